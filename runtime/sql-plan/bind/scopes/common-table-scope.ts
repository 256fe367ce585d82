import type { CommonTablePlan, RelationColumn } from '../../bound/bound-statement.ts';

/** What a name of a WITH clause means. */
export type CommonTableEntry =
  | {
      readonly kind: 'table';
      /** Position in `commonTables` of the statement. */
      readonly table: number;
      readonly columns: readonly RelationColumn[];
    }
  | {
      /** A recursive table within its own second part, where it has the rows of the round before. */
      readonly kind: 'working';
      readonly columns: readonly RelationColumn[];
      /** Its uses; the position of the table is filled in when it is known. */
      readonly plans: { -readonly [Key in keyof CommonTablePlan]: CommonTablePlan[Key] }[];
    }
  | {
      /** A recursive table where it must not be named. */
      readonly kind: 'forbidden';
      readonly reason: string;
    };

/** The common tables that a query may name. Immutable; inner names hide outer ones. */
export class CommonTableScope {
  static readonly empty: CommonTableScope = new CommonTableScope(new Map(), false);

  readonly #entries: ReadonlyMap<string, CommonTableEntry>;
  readonly #isWithinStep: boolean;

  private constructor(entries: ReadonlyMap<string, CommonTableEntry>, isWithinStep: boolean) {
    this.#entries = entries;
    this.#isWithinStep = isWithinStep;
  }

  /** The common table of a name. */
  find(name: string): CommonTableEntry | undefined {
    return this.#entries.get(name);
  }

  /** This scope with one more name. */
  with(name: string, entry: CommonTableEntry): CommonTableScope {
    const isWithinStep = this.#isWithinStep || entry.kind === 'working';
    return new CommonTableScope(new Map(this.#entries).set(name, entry), isWithinStep);
  }

  /**
   * This scope for a query that is run only once although its surroundings are run in rounds: a subquery of an expression or
   * another common table. Working tables must not be named in it.
   */
  get runOnce(): CommonTableScope {
    if (!this.#isWithinStep) return this;
    const entries = [...this.#entries].map(([name, entry]): [string, CommonTableEntry] => [
      name,
      entry.kind === 'working'
        ? {
            kind: 'forbidden',
            reason: `Recursive reference to ${name} must not appear within a subquery`,
          }
        : entry,
    ]);
    return new CommonTableScope(new Map(entries), false);
  }
}
