import { assert } from '#runtime/base/assert.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { fromParameter } from '#runtime/sql-values/from-parameter.ts';
import type { BoundConstant } from '../bound/bound-statement.ts';
import type { AuthAnswers } from '../auth-answers.ts';
import { openConstant } from '../bound/open-constant.ts';
import { OpenValue, ReadValues } from '../bound/open-value.ts';
import type { StatementCaller, StatementScope } from '../ports.ts';
import { valueKind } from './value-kind.ts';

/** Longest text that is a part of a kept statement, in UTF-16 units. */
const FIXED_LENGTH_MAX = 200;

/** What a statement was bound with, and what therefore has to be the same where the result is used again. */
export interface Noted {
  /** Each tells whether another scope answers the same. */
  readonly facts: readonly ((scope: StatementScope) => boolean)[];
  /** The kind of each parameter whose value may differ, by its number from 1. */
  readonly kinds: ReadonlyMap<number, string>;
  /** The parameters whose values were looked at, by their numbers from 1. */
  readonly fixed: ReadonlyMap<number, JsonValue>;
}

/**
 * The scope of a statement while it is bound, which notes what binding asks. Nothing has to know what a bound statement depends on:
 * binding learns everything through its scope. All of a scope is required here, so that whatever is added to it is noted too.
 */
export class NotingScope implements Required<StatementScope> {
  #asked: StatementScope | undefined;
  readonly #facts: ((scope: StatementScope) => boolean)[] = [];
  readonly #kinds = new Map<number, string>();
  readonly #values = new ReadValues();
  #readsAll = false;
  #isOfMoment = false;

  /** @param scope of the statement */
  constructor(scope: StatementScope) {
    this.#asked = scope;
  }

  /**
   * Ends noting, and forgets the scope and the values that were not looked at: parts of what was bound refer to this one.
   *
   * @returns undefined: what was bound holds for this run only, because it has the time, the caller or
   *   a long value in it
   */
  noted(): Noted | undefined {
    if (this.#isOfMoment) return undefined;
    const { parameters } = this.#scope;
    const read = this.#readsAll ? parameters.map((_, index) => index + 1) : this.#values.read;
    const fixed = new Map<number, JsonValue>();
    for (const slot of read) fixed.set(slot, parameters[slot - 1] as JsonValue);
    if (![...fixed.values()].every(isKeepable)) return undefined;
    this.#values.forgetUnread();
    this.#asked = undefined;
    return { facts: this.#facts, kinds: this.#kinds, fixed };
  }

  workspaceNamed(name: string, isBare: boolean): string | undefined {
    return this.#fact((scope) => scope.workspaceNamed(name, isBare));
  }

  get parameters(): readonly JsonValue[] {
    this.#readsAll = true;
    return this.#scope.parameters;
  }

  openParameter(index: number): BoundConstant | undefined {
    const json = this.#scope.parameters[index - 1];
    if (json === undefined) return undefined;
    this.#kinds.set(index, valueKind(json));
    const { type, value } = fromParameter(json);
    if (value === null) return { kind: 'constant', type, value, isParameter: true };
    this.#values.add(index, value);
    return openConstant(type, new OpenValue(index, this.#values), true);
  }

  get nowMicroseconds(): bigint {
    this.#isOfMoment = true;
    return this.#scope.nowMicroseconds;
  }

  get user(): string {
    return this.#fact(({ user }) => user);
  }

  get caller(): StatementCaller {
    this.#isOfMoment = true;
    return this.#scope.caller as StatementCaller;
  }

  get auth(): AuthAnswers {
    this.#isOfMoment = true;
    return this.#scope.auth as AuthAnswers;
  }

  get branch(): string {
    return this.#fact(({ branch }) => branch);
  }

  get version(): string {
    return this.#fact(({ version }) => version);
  }

  get #scope(): StatementScope {
    assert(this.#asked !== undefined, 'nothing is asked behind the end of binding');
    return this.#asked;
  }

  #fact<T>(ask: (scope: StatementScope) => T): T {
    const answer = ask(this.#scope);
    this.#facts.push((scope) => ask(scope) === answer);
    return answer;
  }
}

/** Whether a value that was looked at may be kept, to be compared: it is short, and no JSON. */
function isKeepable(json: JsonValue): boolean {
  if (typeof json === 'string') return json.length <= FIXED_LENGTH_MAX;
  return typeof json !== 'object' || json === null;
}
