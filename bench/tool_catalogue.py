"""Fifty tools of an assistant for everyday work, and what people ask for.

A line is a tool: its name, its parameters and its description, as an author of tools
would write them.
"""

from __future__ import annotations

from rxagent.tools import Tool

_TEXT = {"type": "string"}
_PARAMETERS: dict[str, dict[str, object]] = {
    "city": {**_TEXT, "description": "Name of the city, such as Oslo or Hangzhou."},
    "country": {**_TEXT, "description": "ISO code of the country, two letters."},
    "date": {**_TEXT, "format": "date", "description": "The day, as YYYY-MM-DD."},
    "from_date": {**_TEXT, "format": "date", "description": "The first day."},
    "to_date": {**_TEXT, "format": "date", "description": "The last day, included."},
    "time": {**_TEXT, "description": "Time of day, as HH:MM, in 24 hours."},
    "query": {**_TEXT, "description": "Words to look for."},
    "limit": {
        "type": "integer",
        "minimum": 1,
        "maximum": 100,
        "description": "How many results to return at most. Default: 20.",
    },
    "id": {**_TEXT, "description": "The identifier, as another tool returned it."},
    "to": {
        "type": "array",
        "items": {"type": "string", "format": "email"},
        "description": "E-mail addresses of those who get it.",
    },
    "subject": {**_TEXT, "description": "The subject line, up to 200 characters."},
    "body": {**_TEXT, "description": "The text, in Markdown."},
    "title": {**_TEXT, "description": "A short title."},
    "amount": {"type": "number", "minimum": 0, "description": "The amount of money."},
    "currency": {**_TEXT, "description": "ISO 4217 code, such as EUR."},
    "customer_id": {**_TEXT, "description": "The customer, as find_customer gives it."},
    "path": {**_TEXT, "description": "Path of the file or folder, from the root."},
    "language": {**_TEXT, "description": "BCP 47 tag of the language, such as nb-NO."},
    "units": {
        "enum": ["metric", "imperial"],
        "description": "The system of units for all numbers. Default: metric.",
    },
    "person": {**_TEXT, "description": "Name or e-mail address of a colleague."},
}

_CATALOGUE = """
get_weather | city units | Get the current weather of a city: temperature, wind, rain.
get_forecast | city date units | Get the forecast for a day within the next two weeks.
get_air_quality | city | Get the air quality index of a city, with its pollutants.
list_clothing_shops | city limit | List shops that sell clothes in a city, by rating.
list_restaurants | city query limit | List restaurants in a city, by rating.
list_pharmacies | city limit | List pharmacies in a city that are open now.
book_table | id date time | Book a table at a restaurant for two.
search_flights | city date limit | Search flights to a city on a day, cheapest first.
book_flight | id person | Book a seat on a flight that search_flights found.
cancel_flight | id | Cancel a booked flight; the fare rules decide about a refund.
search_hotels | city from_date to_date limit | Search free rooms in hotels of a city.
book_hotel | id person from_date to_date | Book a room in a hotel.
get_train_times | city date time | Get the departures of trains to a city after a time.
rent_car | city from_date to_date | Rent a car in a city, with full insurance.
send_mail | to subject body | Send an e-mail from the user's own address.
search_mail | query from_date limit | Search the user's mailbox, newest first.
delete_mail | id | Move an e-mail to the bin, from which it vanishes in 30 days.
draft_reply | id body | Save a reply to an e-mail as a draft, without sending it.
create_event | title date time to | Create an event in the calendar and invite people.
list_events | from_date to_date | List the events of the calendar in a range of days.
move_event | id date time | Move an event to another time and tell the invited.
cancel_event | id body | Cancel an event and tell those who were invited why.
find_free_time | person from_date to_date | Find when people are free at the same time.
create_task | title date person | Create a task with a due date, for somebody.
list_tasks | person limit | List open tasks, the most urgent first.
complete_task | id | Mark a task as done.
create_invoice | customer_id amount currency date | Create an invoice for a customer.
send_invoice | id to | Send an invoice as a PDF to the customer's accounting.
cancel_invoice | id body | Cancel an invoice by a credit note, and say why.
list_invoices | customer_id from_date to_date | List invoices and whether they are paid.
record_payment | id amount date | Record that an invoice was paid, in full or in part.
refund_payment | id amount | Give money back to a customer, by the way it came.
find_customer | query limit | Find customers by name, address or number.
update_customer | customer_id title body | Change the address or notes of a customer.
get_exchange_rate | currency date | Get the exchange rate of a currency to the euro.
convert_currency | amount currency | Convert an amount of money to the euro.
get_stock_price | query date | Get the closing price of a share on a day.
list_files | path limit | List the files and folders in a folder.
read_file | path | Read a text file; long ones are cut.
write_file | path body | Write a text file; what was there is kept as a version.
search_files | query path limit | Search files by their content.
share_file | path to | Share a file with people, who may read it and not change it.
delete_file | path | Delete a file; an administrator can restore it for a week.
translate_text | body language | Translate a text, keeping its Markdown.
summarise_text | body limit | Summarise a text in some sentences.
search_web | query language limit | Search the web and return titles and snippets.
read_page | query | Read a page of the web as text.
find_person | query | Find a colleague: phone number, office, manager.
request_leave | from_date to_date body | Ask for days of leave; the manager decides.
get_public_holidays | country date | Get the public holidays of a country in a year.
"""

PROMPTS = (
    ("temperature outside", "get_weather"),
    ("weather in Hangzhou", "get_weather"),
    ("will it rain tomorrow forecast", "get_forecast"),
    ("clothing shops", "list_clothing_shops"),
    ("shops that sell clothes", "list_clothing_shops"),
    ("restaurant recommendations", "list_restaurants"),
    ("reserve a table", "book_table"),
    ("find flights", "search_flights"),
    ("hotel rooms", "search_hotels"),
    ("train departures", "get_train_times"),
    ("car rental", "rent_car"),
    ("send email", "send_mail"),
    ("search inbox for mails", "search_mail"),
    ("schedule a meeting calendar event", "create_event"),
    ("when is everybody free", "find_free_time"),
    ("todo task create", "create_task"),
    ("issue an invoice", "create_invoice"),
    ("unpaid invoices list", "list_invoices"),
    ("refund a customer", "refund_payment"),
    ("currency conversion", "convert_currency"),
    ("exchange rate", "get_exchange_rate"),
    ("share price", "get_stock_price"),
    ("open a text file", "read_file"),
    ("translate to Norwegian", "translate_text"),
    ("summary of a document", "summarise_text"),
    ("google something on the internet", "search_web"),
    ("phone number of a colleague", "find_person"),
    ("vacation request days off", "request_leave"),
    ("bank holidays", "get_public_holidays"),
    ("air pollution", "get_air_quality"),
)
"""What a model searches for, and the tool that it means."""


def catalogue() -> list[Tool[..., object]]:
    """Return the tools; each answers in a sentence."""
    return [
        _tool(*map(str.strip, line.split("|")))
        for line in _CATALOGUE.strip().splitlines()
    ]


def _tool(name: str, parameters: str, description: str) -> Tool[..., object]:
    async def answer(**_: object) -> str:
        return f"{name}: done, with a result of about a dozen words for the model."

    names = parameters.split()
    schema = {
        "type": "object",
        "properties": {each: _PARAMETERS[each] for each in names},
        "required": [each for each in names if each not in ("limit", "units")],
        "additionalProperties": False,
    }
    return Tool.from_schema(
        answer, name=name, description=description, parameters=schema
    )
