/** Longest part of a text that a message quotes, in characters. */
const LENGTH_MAX = 100;

/** A text of the caller as a message quotes it: cut where it is long. */
export function shortened(text: string): string {
  return text.length > LENGTH_MAX ? `${text.slice(0, LENGTH_MAX)}…` : text;
}
