"""What axe-core says of a page: WCAG 2.1 A and AA, and its own good practice."""

from playwright.sync_api import Page

_ASK = """async () => {
    const kinds = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];
    const result = await axe.run(document, { runOnly: kinds });
    const told = (one) => one.nodes.map((node) => `${one.id}: ${node.html} ${node.failureSummary}`);
    return { passes: result.passes.length, violations: result.violations.flatMap(told) };
}"""


def assert_accessible(page: Page, axe: str, where: str) -> None:
    # By the protocol: the page's own policy allows no script that is not a file of its server.
    session = page.context.new_cdp_session(page)
    session.send("Runtime.evaluate", {"expression": f"{axe}; void 0"})
    found = page.evaluate(_ASK)
    wrong = found["violations"]
    print(f"\naxe on {where}: {found['passes']} rules passed, {len(wrong)} places violate one", *wrong)
    assert wrong == []
