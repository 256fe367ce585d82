/** Something that could not be brought out. */
export interface Missing {
  /** Whose it is; undefined for a file that is no actor's. */
  readonly actor?: string;
  /** Undefined for what is an actor's. */
  readonly file?: string;
  readonly table?: string;
  /** Of a node. */
  readonly path?: string;
  readonly what: string;
}

/** What came out of a damaged directory. */
export interface SalvageReport {
  readonly from: string;
  readonly into: string;
  readonly at: string;
  /** Actors in the new directory. */
  readonly actors: number;
  readonly rows: number;
  /** None when everything came out. */
  readonly missing: readonly Missing[];
}

/** Name of the report in the new directory. */
export const REPORT_FILE = 'salvage-report.json';

/** What is missing of one table above which only the number is told. */
const MISSING_PER_TABLE_MAX = 1_000;

/** Gathers what is missing. */
export class MissingList {
  readonly all: Missing[] = [];
  readonly #counts = new Map<string, number>();
  readonly #actors = new Set<string>();

  add(missing: Missing): void {
    const { actor, table } = missing;
    if (actor !== undefined) this.#actors.add(actor);
    const name = `${actor ?? ''} ${table ?? ''}`;
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    if (count <= MISSING_PER_TABLE_MAX) this.all.push(missing);
    else if (count === MISSING_PER_TABLE_MAX + 1) this.all.push({ ...missing, what: 'and more' });
  }

  /** Whether something of an actor is missing. */
  has(actor: string): boolean {
    return this.#actors.has(actor);
  }
}

/** One line of what is missing, for people. */
export function missingLine({ actor, file, path, table, what }: Missing): string {
  const where = path ?? (table === undefined || table === '' ? '' : `table ${table}`);
  return `${actor ?? file}${where === '' ? '' : `, ${where}`}: ${what}`;
}
