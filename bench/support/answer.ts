/** The answer to a question: a table with notes. */
export interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Paragraphs below the table. */
  readonly notes: readonly string[];
  /** What was measured, if it is not the median of the rounds of the plan. */
  readonly effort?: string;
}
