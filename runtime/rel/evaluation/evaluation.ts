import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { Caller, ConditionNode, Relations } from '../ports.ts';

/**
 * Most work of one evaluation, in units. A unit is about one character looked at or copied, and takes a few nanoseconds,
 * so an evaluation takes at most some milliseconds.
 */
export const WORK_MAX = 400_000;

/** Work of one step, in units, besides the characters it looks at. */
export const STEP_WORK = 8;

/** Work of a key of an object. */
export const KEY_WORK = 16;

/** Work of asking for relations. The engine has its own bound for each question. */
export const RELATES_WORK = 50_000;

/** A property that was read, with the work of reading it in units. */
export interface PropertyRead {
  readonly value: JsonValue;
  readonly work: number;
}

/** Work of several evaluations about one node, about which several conditions are asked. */
export interface SharedWork {
  /** Units that may still be done. Each evaluation takes its work from them. */
  left: number;
  /** Set to true when an evaluation ends because it needs more of them than are left. */
  isLacking: boolean;
  /**
   * Properties of the node by their names. The work of reading one is taken from {@link left} once, so that a long one costs
   * no more for many conditions than for one. It counts in the bound of each evaluation all the same. Undefined: none is kept.
   */
  readonly reads: Map<string, PropertyRead> | undefined;
}

/** A name that is unknown, and the names that are known there. Which one was meant is found when somebody asks. */
export interface UnknownName {
  readonly name: string;
  readonly known: readonly string[];
}

/** Why an evaluation ended without a value. It is thrown, but is no `Error`: rows fail often, and a stack costs more. */
export class Fault {
  /** `work` when the bound of work was reached; with a larger bound there may be a value. */
  readonly kind: 'evaluation' | 'work';
  readonly message: string;
  /** Where in the text of the condition. */
  readonly at: number;
  readonly unknown: UnknownName | undefined;

  constructor(kind: 'evaluation' | 'work', message: string, at: number, unknown?: UnknownName) {
    this.kind = kind;
    this.message = message;
    this.at = at;
    this.unknown = unknown;
  }
}

/** One evaluation of a condition: what it reads, and the work that it may still do. */
export class Evaluation {
  /** Absent where constants are computed. */
  readonly caller: Caller | undefined;
  readonly node: ConditionNode | undefined;
  readonly relations: Relations | undefined;
  /** Where in the text the present step is, for its fault. */
  at = 0;
  readonly #shared: SharedWork | undefined;
  #work: number;

  constructor(
    caller: Caller | undefined,
    node: ConditionNode | undefined,
    relations: Relations | undefined,
    workMax: number,
    shared?: SharedWork,
  ) {
    this.caller = caller;
    this.node = node;
    this.relations = relations;
    this.#work = workMax;
    this.#shared = shared;
  }

  /** Properties that are known already; undefined: none is kept. */
  get reads(): SharedWork['reads'] | undefined {
    return this.#shared?.reads;
  }

  /** Work that may still be done, in units. */
  get workLeft(): number {
    return this.#shared === undefined ? this.#work : Math.min(this.#work, this.#shared.left);
  }

  /** Counts work before it is done. @throws {Fault} of kind `work` when it is too much */
  spend(units: number): void {
    this.#work -= units;
    // Of the shared work only what is done is taken.
    if (!(this.#work >= 0)) this.giveUp();
    const shared = this.#shared;
    if (shared === undefined) return;
    shared.left -= units;
    if (!(shared.left >= 0)) this.giveUpBefore();
  }

  /** Counts work that something else counts for all evaluations. @throws {Fault} as {@link spend} */
  spendAlone(units: number): void {
    this.#work -= units;
    if (!(this.#work >= 0)) this.giveUp();
  }

  /** Gives up because something takes more than {@link workLeft}. @throws {Fault} of kind `work` */
  giveUpBefore(): never {
    const shared = this.#shared;
    if (shared !== undefined && shared.left < this.#work) shared.isLacking = true;
    this.giveUp();
  }

  /** @throws {Fault} of kind `evaluation` */
  fail(message: string): never {
    throw new Fault('evaluation', message, this.at);
  }

  /** @throws {Fault} of kind `work` */
  giveUp(): never {
    throw new Fault('work', 'The condition takes too much work for this node', this.at);
  }
}
