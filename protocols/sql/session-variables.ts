import { givenValue } from '#runtime/sql-plan/given-values.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { SetVariableStatement, ShowVariableStatement } from '#runtime/sql-syntax/nodes/branch-nodes.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import { oneRow, type SessionRows } from './session-rows.ts';
import type { SqlText } from './sql-text.ts';

/** What clients ask a server of PostgreSQL for, by name in lower case. */
const constants: Readonly<Record<string, string>> = {
  application_name: '',
  client_encoding: 'UTF8',
  datestyle: 'ISO, MDY',
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: 'off',
  integer_datetimes: 'on',
  intervalstyle: 'postgres',
  is_superuser: 'off',
  lc_collate: 'C',
  lc_ctype: 'C',
  max_identifier_length: '63',
  search_path: 'public',
  server_encoding: 'UTF8',
  server_version: '14.0',
  server_version_num: '140000',
  standard_conforming_strings: 'on',
  'time zone': 'UTC',
  timezone: 'UTC',
  'transaction isolation level': 'read committed',
  transaction_isolation: 'read committed',
  transaction_read_only: 'off',
};

/** Words for a truth value, in lower case. */
const switches: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['on', true],
  ['1', true],
  ['yes', true],
  ['false', false],
  ['off', false],
  ['0', false],
  ['no', false],
]);

/** The variable that a session can set. */
const VALIDATE_SCHEMA = 'validate_schema';

/**
 * The variables of a session. `validate_schema` is kept for clients that set it, and shown to them: nodes are always checked
 * against their types.
 */
export class SessionVariables {
  #validatesSchema = true;

  /**
   * Sets a variable.
   *
   * @throws {ServiceError} `VALIDATION_FAILED` for another variable, and for a value that is no truth value
   */
  set({ name, span, value }: SetVariableStatement, { parameters, source }: SqlText): SessionRows {
    if (name !== VALIDATE_SCHEMA) {
      const text = `Unknown session variable: '${name}'. Supported variables: ${VALIDATE_SCHEMA}`;
      throw sqlError(text, source, span);
    }
    const given = value === undefined ? true : givenValue(value, { parameters }, source);
    const isOn = truthOf(given);
    if (isOn === undefined) {
      const text = `Invalid value for ${VALIDATE_SCHEMA}; it is true, on, 1, yes, false, off, 0 or no`;
      throw sqlError(text, source, value?.span ?? span);
    }
    this.#validatesSchema = isOn;
    return oneRow({ command: 'SET', variable: name, value: String(isOn) });
  }

  /** Shows a variable. @throws {ServiceError} `VALIDATION_FAILED` for one that is not known */
  show({ name, span }: ShowVariableStatement, { source }: SqlText): SessionRows {
    const value = name === VALIDATE_SCHEMA ? String(this.#validatesSchema) : constantOf(name);
    if (value !== undefined) return oneRow({ [name]: value });
    throw sqlError(`unrecognized configuration parameter "${name}"`, source, span);
  }
}

function constantOf(name: string): string | undefined {
  return Object.hasOwn(constants, name) ? constants[name] : undefined;
}

function truthOf(value: JsonValue): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  return switches.get(String(value).toLowerCase());
}
