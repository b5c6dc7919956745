"""Seconds of one training step of the same model in PyTorch eager. Run by an interpreter that has torch; it prints a
number."""

from __future__ import annotations

import time

import torch
from torch import nn
from torch.nn import functional

T, D, H, L, F, V, B = 64, 128, 4, 4, 512, 65, 12
ROUNDS, STEPS = 5, 40


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention_norm, self.ffn_norm = nn.LayerNorm(D, bias=False), nn.LayerNorm(D, bias=False)
        self.qkv, self.out = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D, bias=False)
        self.up, self.down = nn.Linear(D, F, bias=False), nn.Linear(F, D, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.view(B, T, H, D // H).transpose(1, 2) for part in self.qkv(self.attention_norm(x)).split(D, 2))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, D)
        x = x + self.out(mixed)
        return x + self.down(functional.gelu(self.up(self.ffn_norm(x))))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(V, D), nn.Embedding(T, D)
        self.blocks, self.norm = nn.ModuleList([Block() for _ in range(L)]), nn.LayerNorm(D, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.places(torch.arange(T))
        for block in self.blocks:
            x = block(x)
        return functional.linear(self.norm(x), self.tokens.weight)


def main() -> None:
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    rows = torch.randint(0, V, (B, T + 1))
    best = float("inf")
    for _ in range(ROUNDS + 1):
        begun = time.perf_counter()
        for _ in range(STEPS):
            loss = functional.cross_entropy(model(rows[:, :-1]).reshape(-1, V), rows[:, 1:].reshape(-1))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        best = min(best, (time.perf_counter() - begun) / STEPS)
    print(best)


if __name__ == "__main__":
    main()
