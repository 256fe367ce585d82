import { isJsonArray, isJsonObject, type JsonValue, ownValue } from '#runtime/content/values/json-value.ts';
import { allFields, FieldFilter, noFields } from '../field-filter.ts';
import { type Operation, operations } from '../policy.ts';
import { NameGlob } from './name-glob.ts';
import { canMatchPath, PathGlob } from './path-glob.ts';
import type { CompileCondition, RuleCondition } from './rule-condition.ts';

/** The most permissions of one role; further ones are ignored. */
export const PERMISSIONS_MAX = 500;

/** The longest pattern, in UTF-16 units. */
export const PATTERN_LENGTH_MAX = 512;

/** The longest condition, in UTF-16 units. */
export const CONDITION_LENGTH_MAX = 4_096;

/** The most names in a list of types, fields or operations, and the longest of them in UTF-16 units. */
export const NAMES_MAX = 1_000;
const NAME_LENGTH_MAX = 1_024;

/** The most notices that are kept for one role. */
export const NOTICES_MAX = 100;

const operationNames: ReadonlySet<string> = new Set(operations);

/** Keys that only describe a permission. */
const describingKeys: ReadonlySet<string> = new Set([
  'id',
  'name',
  'label',
  'title',
  'description',
  'comment',
]);

const readKeys: ReadonlySet<string> = new Set([
  'path',
  'operations',
  'workspace',
  'branch',
  'branch_pattern',
  'node_types',
  'fields',
  'except_fields',
  'condition',
  'conditions',
]);

/** One permission of a role. @see docs/interface/permissions.md#permissions */
export interface Permission {
  readonly path: PathGlob;
  readonly operations: ReadonlySet<Operation>;
  readonly workspace: NameGlob;
  /** All of them must match. */
  readonly branches: readonly NameGlob[];
  /** Undefined: all. */
  readonly nodeTypes: ReadonlySet<string> | undefined;
  readonly fields: FieldFilter;
  /** Undefined: none. */
  readonly condition: RuleCondition | undefined;
}

/** A part of a role that has no effect, or less than it may seem to have. */
export interface PermissionNotice {
  /** Number of the permission in its role, from 0; absent where it is about all of them. */
  readonly index?: number;
  readonly reason: string;
}

/** Permissions as they are stored, read. */
export interface ParsedPermissions {
  readonly permissions: readonly Permission[];
  readonly notices: readonly PermissionNotice[];
}

/**
 * Reads the property `permissions` of a role. Whatever cannot be understood grants nothing: an entry with a restriction
 * that is not understood would otherwise grant more than its author meant.
 *
 * @param compile compiles conditions
 * @param onRead called with each permission that grants something, and its number in the role, from 0
 * @returns yields after each entry, because compiling a hostile one may take a millisecond
 * @see docs/interface/permissions.md#permissions
 */
export function* parsePermissions(
  stored: JsonValue | undefined,
  compile: CompileCondition,
  onRead: (permission: Permission, index: number) => void = () => {},
): Generator<undefined, ParsedPermissions> {
  const permissions: Permission[] = [];
  const notices: PermissionNotice[] = [];
  const note = (reason: string, index?: number): void => {
    if (notices.length < NOTICES_MAX) notices.push(index === undefined ? { reason } : { index, reason });
  };
  if (stored == null) return { permissions, notices };
  if (!isJsonArray(stored)) {
    note("'permissions' is not a list: the role grants nothing");
    return { permissions, notices };
  }
  if (stored.length > PERMISSIONS_MAX)
    note(`Only the first ${PERMISSIONS_MAX} of ${stored.length} permissions count`);
  for (const [index, entry] of stored.slice(0, PERMISSIONS_MAX).entries()) {
    const read = new EntryReader(entry, (reason) => note(reason, index)).permission(compile);
    if (read !== undefined) {
      onRead(read, index);
      permissions.push(read);
    }
    yield;
  }
  return { permissions, notices };
}

/** Reads one entry. What reads a key answers undefined where the entry grants nothing because of it. */
class EntryReader {
  readonly #entry: JsonValue;
  readonly #note: (reason: string) => void;

  constructor(entry: JsonValue, note: (reason: string) => void) {
    this.#entry = entry;
    this.#note = note;
  }

  permission(compile: CompileCondition): Permission | undefined {
    if (!isJsonObject(this.#entry)) return this.#refuse('it is not an object');
    for (const key of Object.keys(this.#entry)) {
      if (!readKeys.has(key) && !describingKeys.has(key))
        return this.#refuse(`its key '${shortened(key)}' is unknown, and may be meant to restrict it`);
    }
    const path = this.#path();
    const granted = this.#operations();
    const workspace = this.#names('workspace');
    const branches = this.#branches();
    const nodeTypes = this.#nodeTypes();
    const condition = this.#condition(compile);
    if (path === undefined || granted === undefined || workspace === undefined) return undefined;
    if (branches === undefined || nodeTypes === undefined || condition === undefined) return undefined;
    return {
      path,
      operations: granted,
      workspace,
      branches,
      nodeTypes: nodeTypes === 'all' ? undefined : nodeTypes,
      fields: this.#fields(),
      condition: condition === 'none' ? undefined : condition,
    };
  }

  #path(): PathGlob | undefined {
    const text = this.#value('path');
    if (text === undefined) return this.#refuse("it has no 'path'");
    if (typeof text !== 'string') return this.#refuse("its 'path' is not a text");
    if (text.length > PATTERN_LENGTH_MAX)
      return this.#refuse(`its 'path' is longer than ${PATTERN_LENGTH_MAX} characters`);
    if (!canMatchPath(text)) return this.#refuse(`no path matches '${shortened(text)}'`);
    return new PathGlob(text);
  }

  #operations(): ReadonlySet<Operation> | undefined {
    const words = this.#value('operations');
    if (words === undefined || !isJsonArray(words)) return this.#refuse("its 'operations' are not a list");
    const granted = new Set<Operation>();
    for (const word of words.slice(0, NAMES_MAX)) {
      const operation = typeof word === 'string' ? word.toLowerCase() : '';
      if (isOperation(operation)) granted.add(operation);
      else this.#note(`The operation ${shortened(JSON.stringify(word))} is unknown and is ignored`);
    }
    return granted.size === 0 ? this.#refuse('it has no known operation') : granted;
  }

  #branches(): readonly NameGlob[] | undefined {
    const globs = [this.#names('branch'), this.#names('branch_pattern')];
    return globs.every((glob) => glob !== undefined) ? globs : undefined;
  }

  /** A pattern for names. An absent or empty one matches all. */
  #names(key: 'workspace' | 'branch' | 'branch_pattern'): NameGlob | undefined {
    const text = this.#value(key) ?? '';
    if (typeof text !== 'string') return this.#refuse(`its '${key}' is not a text`);
    if (text.length > PATTERN_LENGTH_MAX)
      return this.#refuse(`its '${key}' is longer than ${PATTERN_LENGTH_MAX} characters`);
    const glob = new NameGlob(text);
    return glob.isUnderstood ? glob : this.#refuse(`no name matches '${shortened(text)}' in '${key}'`);
  }

  #nodeTypes(): ReadonlySet<string> | 'all' | undefined {
    const list = this.#value('node_types');
    if (list === undefined) return 'all';
    if (!isJsonArray(list)) return this.#refuse("its 'node_types' are not a list");
    if (list.length === 0) return 'all';
    const names = list.slice(0, NAMES_MAX).filter(isName);
    if (names.length < list.length) this.#note("Some of its 'node_types' are no names and are ignored");
    return names.length === 0 ? this.#refuse("none of its 'node_types' is a name") : new Set(names);
  }

  /** Of an entry whose lists are not understood no property is shown. */
  #fields(): FieldFilter {
    const shown = this.#value('fields');
    const hidden = this.#value('except_fields');
    if (shown !== undefined) {
      if (hidden !== undefined) this.#note("'except_fields' is ignored because there is 'fields'");
      if (!isJsonArray(shown)) return this.#hideAll("its 'fields' are not a list");
      const names = shown.slice(0, NAMES_MAX).filter(isName);
      if (names.length < shown.length) this.#note("Some of its 'fields' are no names and are ignored");
      return new FieldFilter('only', names);
    }
    if (hidden === undefined) return allFields;
    if (!isJsonArray(hidden)) return this.#hideAll("its 'except_fields' are not a list");
    if (hidden.length > NAMES_MAX) return this.#hideAll(`it has more than ${NAMES_MAX} 'except_fields'`);
    if (!hidden.every(isName)) return this.#hideAll("some of its 'except_fields' are no names");
    return hidden.length === 0 ? allFields : new FieldFilter('except', hidden);
  }

  #condition(compile: CompileCondition): RuleCondition | 'none' | undefined {
    const legacy = this.#value('conditions');
    if (legacy !== undefined && !isEmpty(legacy))
      return this.#refuse("it has 'conditions', which are not evaluated; write a 'condition'");
    const text = this.#value('condition');
    if (text === undefined) return 'none';
    if (typeof text !== 'string') return this.#refuse("its 'condition' is not a text");
    if (text.length > CONDITION_LENGTH_MAX)
      return this.#refuse(`its 'condition' is longer than ${CONDITION_LENGTH_MAX} characters`);
    const compiled = compile(text);
    return 'error' in compiled ? this.#refuse(`its 'condition' cannot be read: ${compiled.error}`) : compiled;
  }

  /** The value of a key; undefined when it is absent or null. */
  #value(key: string): JsonValue | undefined {
    return (isJsonObject(this.#entry) ? ownValue(this.#entry, key) : undefined) ?? undefined;
  }

  #refuse(reason: string): undefined {
    this.#note(`The permission grants nothing: ${reason}`);
    return undefined;
  }

  #hideAll(reason: string): FieldFilter {
    this.#note(`The permission shows no property: ${reason}`);
    return noFields;
  }
}

function isOperation(word: string): word is Operation {
  return operationNames.has(word);
}

function isName(value: JsonValue): value is string {
  return typeof value === 'string' && value !== '' && value.length <= NAME_LENGTH_MAX;
}

function isEmpty(value: JsonValue): boolean {
  if (isJsonArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

function shortened(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 80)}…`;
}
