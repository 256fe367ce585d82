/**
 * An answer together with the head of its branch at that moment, so that no separate request for the head is needed.
 */
export class DatedAnswer {
  /** Formatted revision. */
  readonly head: string;
  readonly answer: unknown;

  constructor(head: string, answer: unknown) {
    this.head = head;
    this.answer = answer;
  }
}

/** An answer without its head, if it has one. */
export function undated(answer: unknown): unknown {
  return answer instanceof DatedAnswer ? answer.answer : answer;
}
