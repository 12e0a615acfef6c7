"""Three small vocabularies that together hold what real XML does: attributes, mixed content, namespaces, DOCTYPEs.

Each function makes one document from a random generator; the same state gives the same text.
"""

from collections.abc import Callable
from random import Random
from xml.sax.saxutils import escape, quoteattr

_SENTENCE = (
    "market share growth profit & loss report energy grid wind solar election court ruling trade tariff port "
    "shipping storm flood rescue match goal league cup final record season film festival award <quantum> vaccine"
)
WORDS = tuple(_SENTENCE.split())
CITIES = ("Lisbon", "Riverside", "Athens", "Oslo", "São Paulo", "Kraków", "Nairobi", "Osaka")
CURRENCIES = ("EUR", "USD", "GBP", "JPY", "NOK")
COUNTRIES = ("PT", "US", "GR", "NO", "BR", "PL", "KE", "JP")
INVOICE = "urn:example:invoice:2"
PARTS = "urn:example:invoice:parts:2"


def words(rng: Random, low: int, high: int) -> str:
    return escape(" ".join(rng.choices(WORDS, k=rng.randint(low, high))))


def news(rng: Random) -> str:
    """A news item: deep, mixed content, emphasis and places inside paragraphs."""
    paragraphs = "".join(
        f"<p>{words(rng, 8, 25)} <em>{words(rng, 1, 3)}</em> {words(rng, 4, 12)}"
        + (f" <location city={quoteattr(rng.choice(CITIES))}/>" if rng.random() < 0.4 else "")
        + f" {words(rng, 3, 9)}.</p>\n"
        for _ in range(rng.randint(6, 20))
    )
    kind, city = rng.choice(("image", "video")), rng.choice(CITIES)
    media = f'<media type="{kind}"><caption><![CDATA[{city} < 24h]]></caption></media>'
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE nitf SYSTEM "nitf.dtd">\n'
        f'<nitf uno="{rng.randrange(10**9)}"><head><title>{words(rng, 3, 8)}</title>'
        f'<docdata><urgency ed-urg="{rng.randint(1, 8)}"/><date.issue norm="202611{rng.randint(1, 28):02d}"/>'
        f"<key-list>{''.join(f'<keyword key={quoteattr(rng.choice(WORDS))}/>' for _ in range(rng.randint(1, 4)))}"
        f"</key-list></docdata></head>\n<body><body.head><hedline><hl1>{words(rng, 4, 9)}</hl1></hedline>"
        f"<dateline><location>{rng.choice(CITIES)}</location></dateline></body.head>\n<body.content>{paragraphs}"
        f"{media if rng.random() < 0.5 else ''}</body.content></body></nitf>\n"
    )


def invoice(rng: Random) -> str:
    """An invoice: two namespaces, numbers, attributes on amounts, a default namespace and a prefix."""
    currency = rng.choice(CURRENCIES)
    lines = []
    total = 0.0
    for number in range(1, rng.randint(2, 14)):
        amount = round(rng.uniform(1, 900), 2)
        total += amount
        unit, category, percent = rng.choice(("EA", "KG", "HR")), rng.choice("SZEO"), rng.choice((0, 6, 13, 23))
        lines.append(
            f'<c:Line><c:ID>{number}</c:ID><c:Quantity unit="{unit}">{rng.randint(1, 50)}</c:Quantity>'
            f'<c:Amount currency="{currency}">{amount:.2f}</c:Amount><c:Item><c:Name>{words(rng, 1, 4)}</c:Name>'
            f"<c:Tax><c:Category>{category}</c:Category><c:Percent>{percent}</c:Percent></c:Tax>"
            "</c:Item></c:Line>\n"
        )
    parties = "".join(
        f"<c:{role}><c:Name>{words(rng, 1, 3)}</c:Name><c:Country>{rng.choice(COUNTRIES)}</c:Country></c:{role}>"
        for role in ("Supplier", "Customer")
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<Invoice xmlns="{INVOICE}" xmlns:c="{PARTS}">'
        f"<c:ID>INV-{rng.randrange(10**8)}</c:ID><IssueDate>2026-11-{rng.randint(1, 28):02d}</IssueDate>"
        f'<Note xml:lang="en">{words(rng, 2, 12)}</Note>{parties}\n'
        f'{"".join(lines)}<Total currency="{currency}">{total:.2f}</Total></Invoice>\n'
    )


def trade(rng: Random) -> str:
    """A trade message: flat, almost all attributes."""
    venue, status = rng.choice(("XLIS", "XNYS", "XOSL")), rng.choice(("new", "amend", "cancel"))
    legs = "".join(
        f'<leg side="{rng.choice(("buy", "sell"))}" qty="{rng.randint(1, 5000)}" px="{rng.uniform(1, 400):.4f}" '
        f'ccy="{rng.choice(CURRENCIES)}"/>'
        for _ in range(rng.randint(1, 10))
    )
    return (
        f'<trade id="T{rng.randrange(10**9)}" venue="{venue}" status="{status}">'
        f'<!-- desk {rng.randint(1, 9)} --><party role="client">{words(rng, 1, 2)}</party>{legs}'
        f'<settle date="2026-11-{rng.randint(1, 28):02d}"/></trade>\n'
    )


VOCABULARIES: dict[str, Callable[[Random], str]] = {"news": news, "invoice": invoice, "trade": trade}
