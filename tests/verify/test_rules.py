from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from touchline.verify.rules import MAX_RULES, Rules, verification_rules

TEXT = """\
# Verification

Every change is held to these.

- No new dependency
  without a word in the plan.
* [ ] Public functions have docstrings.

```
- not a rule
```

## For the exerciser

1. It starts without a network.
2) `--help` names every option.

   - an item in an item is a rule too

## Style
+ No new dependency without a word in the plan.
"""


def test_list_items_are_rules_for_judges_or_the_exerciser_by_their_heading() -> None:
    assert verification_rules(TEXT) == Rules(
        exerciser=(
            "It starts without a network.",
            "`--help` names every option.",
            "an item in an item is a rule too",
        ),
        review=("No new dependency without a word in the plan.", "Public functions have docstrings."),
    )


def test_a_text_without_items_has_no_rules() -> None:
    assert verification_rules("") == Rules()
    assert verification_rules("Just words.\n\n# Heading\n") == Rules()


def test_the_number_of_rules_is_bounded() -> None:
    assert len(verification_rules("\n".join(f"- rule {n}" for n in range(500))).review) == MAX_RULES


@given(st.text(alphabet=st.sampled_from("-*#`~ \n1.)[]xab")))
def test_every_text_has_rules_of_one_line(text: str) -> None:
    rules = verification_rules(text)
    assert all(rule and "\n" not in rule for rule in rules.exerciser + rules.review)
