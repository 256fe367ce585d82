/** The methods of a structured logger (such as pino) that the HTTP server uses. */
export interface HttpLog {
  /** @param facts fields of the line; `err` holds the thrown value */
  error(facts: Readonly<Record<string, unknown>>, message: string): void;
}
