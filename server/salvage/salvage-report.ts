/** Data that could not be salvaged. */
export interface Missing {
  /** The actor; undefined for a file that belongs to no actor. */
  readonly actor?: string;
  /** Undefined for data of an actor. */
  readonly file?: string;
  readonly table?: string;
  /** Path of a node. */
  readonly path?: string;
  readonly what: string;
}

/** Result of a salvage. */
export interface SalvageReport {
  readonly from: string;
  readonly into: string;
  readonly at: string;
  /** Number of actors in the new directory. */
  readonly actors: number;
  readonly rows: number;
  /** Empty when everything was salvaged. */
  readonly missing: readonly Missing[];
}

/** Name of the report in the new directory. */
export const REPORT_FILE = 'salvage-report.json';

/** Maximum number of listed losses of one table; of more only their number is reported. */
const MISSING_PER_TABLE_MAX = 1_000;

/** Collects missing data. */
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

  /** Returns whether data of an actor is missing. */
  has(actor: string): boolean {
    return this.#actors.has(actor);
  }
}

/** Formats a loss as one line. */
export function missingLine({ actor, file, path, table, what }: Missing): string {
  const where = path ?? (table === undefined || table === '' ? '' : `table ${table}`);
  return `${actor ?? file}${where === '' ? '' : `, ${where}`}: ${what}`;
}
