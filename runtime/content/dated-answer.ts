/** An answer together with where the one who gave it stood in that moment, so that nobody has to ask for that first. */
export class DatedAnswer {
  /** Formatted revision. */
  readonly head: string;
  readonly answer: unknown;

  constructor(head: string, answer: unknown) {
    this.head = head;
    this.answer = answer;
  }
}

/** An answer without its date, if it has one. */
export function undated(answer: unknown): unknown {
  return answer instanceof DatedAnswer ? answer.answer : answer;
}
