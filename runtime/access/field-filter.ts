/** A set of names of properties: all, only some, or all but some. Columns of a node are never in question. */
export class FieldFilter {
  readonly kind: 'all' | 'only' | 'except';
  readonly names: ReadonlySet<string>;

  constructor(kind: FieldFilter['kind'], names: Iterable<string> = []) {
    this.kind = kind;
    this.names = new Set(names);
  }

  /** Whether it has every name. */
  get isAll(): boolean {
    return this.kind === 'all' || (this.kind === 'except' && this.names.size === 0);
  }

  /** Whether it has the name of a top-level property. */
  has(name: string): boolean {
    switch (this.kind) {
      case 'all':
        return true;
      case 'only':
        return this.names.has(name);
      case 'except':
        return !this.names.has(name);
    }
  }

  /** Whether another filter has every name that this one has. */
  isWithin(other: FieldFilter): boolean {
    if (this.kind === 'only') return [...this.names].every((name) => other.has(name));
    return other.kind !== 'only' && [...other.names].every((name) => !this.has(name));
  }
}

/** Every property. */
export const allFields: FieldFilter = Object.freeze(new FieldFilter('all'));

/** No property. */
export const noFields: FieldFilter = Object.freeze(new FieldFilter('only'));
