"""The least that a submission could be: a FastAPI handler with one INSERT and COMMIT, on the database given.

python -m tests.benchmarks.bare DATABASE_URL PORT
"""

import asyncio
import sys

import uvicorn
from fastapi import FastAPI, Request
from sqlalchemy import Column, MetaData, Table, Text, insert

from orchestrator.store.database import Database

metadata = MetaData()
bare = Table("bare", metadata, Column("body", Text))


def app(database: Database) -> FastAPI:
    made = FastAPI()

    @made.post("/submit", status_code=201)
    async def submit(request: Request) -> dict[str, str]:
        body = (await request.body()).decode()
        async with database.write_beside() as tx:
            await tx.tell(insert(bare).values(body=body))
        return {"state": "ok"}

    return made


async def main(url: str, port: int) -> None:
    database = Database(url)
    async with database.write() as tx:
        await tx.connection.run_sync(metadata.create_all)
    await uvicorn.Server(uvicorn.Config(app(database), port=port, log_config=None, access_log=False)).serve()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
