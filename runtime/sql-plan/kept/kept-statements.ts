import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { fromParameter } from '#runtime/sql-values/from-parameter.ts';
import type { StatementScope } from '../ports.ts';
import { type Noted, NotingScope } from './noting-scope.ts';
import { valueKind } from './value-kind.ts';
import { type RunValues, withValues } from './with-values.ts';

/** Longest text of which bound statements are kept, in UTF-16 units: as long as its tree is kept. */
const TEXT_LENGTH_MAX = 8_192;

/** Most statements that are kept for one tree: it may be bound for several workspaces, or types of parameters. */
const PER_TREE_MAX = 4;

/** Most statements that are kept at all. One takes some 5 to 20 kB. */
const STATEMENTS_MAX = 1_000;

/** A statement that was bound before, and for what it holds. */
export interface KeptStatement<Bound extends object> extends Noted {
  /** It may have open values, see {@link withValues}. */
  readonly bound: Bound;
}

/** A statement as it is bound for one run. */
export interface RunStatement<Bound extends object> {
  /** The same object for each run of what is kept; undefined: nothing is. It may have open values. */
  readonly template: Bound | undefined;
  readonly values: RunValues;
  /** The statement with the values of the run. @throws {OtherValueSignal} when it has to be bound with them */
  bound(): Bound;
}

/**
 * Statements that were bound, by their trees, which are kept by their texts. One is used again where binding would ask the same and
 * get the same answers. Values that binding did not look at may differ.
 *
 * A statement of one tenant may be used for another: it has nothing in it but what is compared, so it tells nobody anything. Policies
 * are no part of it, because binding knows none.
 */
export class KeptStatements<Bound extends object> {
  readonly #byTree = new WeakMap<object, KeptStatement<Bound>[]>();
  /** In the order of their use, the latest last, with the list that each is in. */
  readonly #all = new Map<KeptStatement<Bound>, KeptStatement<Bound>[]>();

  /** What was used last, which need not be moved behind the others. */
  #last: KeptStatement<Bound> | undefined;

  /** Number of statements that are kept. */
  get size(): number {
    return this.#all.size;
  }

  /**
   * The statement of a tree, bound for a scope.
   *
   * @param source the text of the tree
   * @param bind binds it; it must learn everything through the scope
   * @throws {ServiceError} those of `bind`
   */
  of(
    tree: object,
    source: string,
    scope: StatementScope,
    bind: (scope: StatementScope) => Bound,
  ): RunStatement<Bound> {
    if (source.length > TEXT_LENGTH_MAX) return ofRun(bind(scope));
    const known = this.known(tree, scope);
    if (known !== undefined) return known;
    const noting = new NotingScope(scope);
    const bound = bind(noting);
    const noted = noting.noted();
    if (noted === undefined) return ofRun(bound);
    const kept = { bound, ...noted };
    this.#keep(tree, kept);
    return again(kept, scope);
  }

  /** The statement of a tree, as it was bound before; undefined: nothing is kept that fits the scope. */
  known(tree: object, scope: StatementScope): RunStatement<Bound> | undefined {
    const kept = this.#find(tree, scope);
    return kept && again(kept, scope);
  }

  #find(tree: object, scope: StatementScope): KeptStatement<Bound> | undefined {
    const list = this.#byTree.get(tree);
    const found = list?.find((kept) => holdsFor(kept, scope));
    if (found === undefined || list === undefined) return undefined;
    if (found === this.#last) return found;
    this.#all.delete(found);
    this.#all.set(found, list);
    this.#last = found;
    return found;
  }

  #keep(tree: object, kept: KeptStatement<Bound>): void {
    const list = this.#byTree.get(tree) ?? [];
    this.#byTree.set(tree, list);
    list.unshift(kept);
    this.#all.set(kept, list);
    this.#last = kept;
    if (list.length > PER_TREE_MAX) this.#all.delete(list.pop() as KeptStatement<Bound>);
    for (const [oldest, among] of this.#all) {
      if (this.#all.size <= STATEMENTS_MAX) break;
      this.#all.delete(oldest);
      among.splice(among.indexOf(oldest), 1);
    }
  }
}

/** Whether binding for a scope would give what is kept, but for the values that it did not look at. */
function holdsFor({ facts, fixed, kinds }: Noted, scope: StatementScope): boolean {
  const { parameters } = scope;
  for (const [index, kind] of kinds) {
    const json = parameters[index - 1];
    if (json === undefined || valueKind(json) !== kind) return false;
  }
  for (const [index, json] of fixed) if (!Object.is(json, parameters[index - 1])) return false;
  return facts.every((holds) => holds(scope));
}

/** A kept statement, for a run. */
function again<Bound extends object>(
  { bound: template, fixed }: KeptStatement<Bound>,
  { parameters }: StatementScope,
): RunStatement<Bound> {
  const values: RunValues = {
    ofSlot: (slot) => fromParameter(parameters[slot - 1] as JsonValue).value,
    isFixed: (slot) => fixed.has(slot),
  };
  return { template, values, bound: () => withValues(template, values) };
}

/** A statement that is for one run only: its open values are those of the run. */
function ofRun<Bound extends object>(bound: Bound): RunStatement<Bound> {
  const values: RunValues = { ofSlot: () => null, isFixed: () => true };
  return { template: undefined, values, bound: () => bound };
}
