const shape =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.\d{1,9})?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/;
const timeShape =
  /^(?:[01]\d|2[0-3]):[0-5]\d(?::(?:[0-5]\d|60)(?:\.\d{1,9})?)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/;
const daysOfMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isLeap(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

/**
 * Whether a string is an RFC 3339 date (`2024-02-29`) or date and time with offset (`2024-02-29T12:00:00Z`). The date
 * must exist in the calendar.
 *
 * @see docs/interface/nodes.md#property-values
 */
export function isDateText(text: string): boolean {
  const match = shape.exec(text);
  if (match === null) return false;
  const month = Number(match[2]);
  const day = Number(match[3]);
  if (month < 1 || month > 12 || day < 1) return false;
  return day <= (month === 2 && isLeap(Number(match[1])) ? 29 : daysOfMonth[month - 1]!);
}

/** Whether a string is a time of day (`09:30`, `09:30:00`, with or without offset). */
export function isTimeText(text: string): boolean {
  return timeShape.test(text);
}

/**
 * The instant of a date, for comparisons; a date without time is its midnight UTC.
 *
 * @param text a string {@link isDateText} accepts
 * @returns milliseconds since the Unix epoch
 */
export function dateMilliseconds(text: string): number {
  // Unix time has no leap seconds; one is compared as the second before it.
  return Date.parse(text.replace(' ', 'T').replace(/:60/, ':59').toUpperCase());
}
