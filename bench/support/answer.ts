/** The answer to a question: a table with what has to be said about it. */
export interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Paragraphs below the table. */
  readonly notes: readonly string[];
  /** What was counted, where it is not the median of the plan's rounds. */
  readonly effort?: string;
}
