import type { ActorId } from '#runtime/actor/ports.ts';
import type { DamageFound } from './check-report.ts';

/** Maximum number of listed findings of one table; of more only their number is reported. */
const FINDINGS_PER_TABLE_MAX = 20;

/** Collects the findings in the file of one actor. */
export class Findings {
  readonly #found: DamageFound[] = [];
  readonly #counts = new Map<string, number>();
  readonly #file: string;
  readonly #actor: ActorId;

  constructor(file: string, actor: ActorId) {
    this.#file = file;
    this.#actor = actor;
  }

  add(table: string, what: string): void {
    const count = (this.#counts.get(table) ?? 0) + 1;
    this.#counts.set(table, count);
    if (count <= FINDINGS_PER_TABLE_MAX) this.#found.push(this.#finding(table, what));
  }

  /** Returns the findings, with the number of those that are not listed. */
  all(): readonly DamageFound[] {
    const more = [...this.#counts]
      .filter(([, count]) => count > FINDINGS_PER_TABLE_MAX)
      .map(([table, count]) => this.#finding(table, `and ${count - FINDINGS_PER_TABLE_MAX} more`));
    return [...this.#found, ...more];
  }

  #finding(table: string, what: string): DamageFound {
    return { file: this.#file, actor: this.#actor, table, what };
  }
}
