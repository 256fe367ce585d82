import type { TableReader } from '#runtime/shard/shard.ts';
import { readDefinition } from '#runtime/tree/schema-store.ts';

/**
 * Which node types and mixins a node type names in `extends` and `mixins`, directly and through others. What was read is kept for
 * the statements of one command: a transaction may change a thousand definitions, and each has to know which shipped types
 * it concerns.
 */
export class InheritedNames {
  readonly #reader: TableReader;
  /** By name; without names for a type that does not exist. */
  readonly #known = new Map<string, readonly string[]>();
  #reads = 0;

  constructor(reader: TableReader) {
    this.#reader = reader;
  }

  /** Number of definitions that were read so far. */
  get reads(): number {
    return this.#reads;
  }

  /** Forgets what a node type names: the command has changed it. */
  forget(name: string): void {
    this.#known.delete(name);
  }

  /** Whether a node type names one of some others, which need not exist. */
  reaches(name: string, others: ReadonlySet<string>): boolean {
    const seen = new Set([name]);
    for (const each of seen) {
      for (const base of this.#basesOf(each)) {
        if (others.has(base)) return true;
        seen.add(base);
      }
    }
    return false;
  }

  #basesOf(name: string): readonly string[] {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    this.#reads += 1;
    const definition = readDefinition(this.#reader, 'node_type', name);
    const bases =
      definition === undefined
        ? []
        : [...definition.mixins, ...(definition.extends === null ? [] : [definition.extends])];
    this.#known.set(name, bases);
    return bases;
  }
}
