import pytest

from orchestrator.domain.access import Caller, Role, Scope
from orchestrator.domain.errors import Forbidden, NotFound


def a_caller(role: Role | None, scope: Scope = Scope.ADMIN, admin: bool = False) -> Caller:
    return Caller("ann", "tok_1", admin, scope, {} if role is None else {"ours": role})


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("role", Role)
def test_a_role_is_never_more_than_the_token_or_the_membership(role: Role, scope: Scope) -> None:
    has = a_caller(role, scope).role_in("ours")
    assert has is not None
    assert role.covers(has)
    assert scope.most.covers(has)
    assert has in (role, scope.most)


def test_what_is_foreign_is_not_found_and_what_is_too_much_is_forbidden() -> None:
    with pytest.raises(NotFound):
        a_caller(Role.ADMIN).needs(Role.VIEWER, "theirs")
    with pytest.raises(Forbidden):
        a_caller(Role.VIEWER).needs(Role.SUBMITTER, "ours")
    a_caller(None, admin=True).needs(Role.ADMIN, "theirs")


@pytest.mark.parametrize(("admin", "scope"), [(False, Scope.ADMIN), (True, Scope.WRITE), (True, Scope.READ)])
def test_what_belongs_to_no_project_takes_a_global_admin_whose_token_says_so(admin: bool, scope: Scope) -> None:
    with pytest.raises(Forbidden):
        a_caller(Role.ADMIN, scope, admin).needs_global_admin()
    a_caller(None, Scope.ADMIN, admin=True).needs_global_admin()
