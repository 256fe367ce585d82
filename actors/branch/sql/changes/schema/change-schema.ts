import { requireAdministrator } from '#runtime/access/policy.ts';
import type {
  AlterDefinitionStatement,
  CreateDefinitionStatement,
  DropDefinitionStatement,
  SchemaStatement,
} from '#runtime/sql-syntax/nodes/schema-nodes.ts';
import { isJsonArray, type JsonObject } from '#runtime/content/values/json-value.ts';
import type { EditScope } from '../../../edit-scope.ts';
import { definitionMessage, dropDefinition, placeDefinition } from '../../../schema/definitions.ts';
import { type ChangeContext, type StatementResult, succeeded } from '../change-context.ts';
import { alteredDefinition } from './altered-definition.ts';
import { createdDefinition } from './created-definition.ts';
import { missingTarget, requireNewName, storedTarget, targets } from './definition-targets.ts';
import { StatementValues } from './statement-values.ts';

/** Estimated nanoseconds to check and store a definition, and for each step of that and of writing index rows anew. */
const DEFINITION_WORK = 5_000_000;
const STEP_WORK = 100_000;
/** Estimated nanoseconds of a step that reads, checks or resolves a definition, for each of its members and mixins. */
const MEMBER_WORK = 5_000;
/** Steps in which a definition is gone through. */
const CHECKING_STEPS = 4;

/**
 * CREATE, ALTER and DROP of node types, mixins, archetypes and element types: the same checks and the same effect as the
 * routes of definitions.
 *
 * @throws {ServiceError} `FORBIDDEN` for a caller who does not administer the tenant; the error for a missing definition;
 *   `ALREADY_EXISTS`; `VALIDATION_FAILED`; those of `placeDefinition` and `dropDefinition`; `REQUEST_TOO_EXPENSIVE`
 * @see docs/interface/sql-schema.md
 */
export function* changeSchema(
  change: ChangeContext,
  statement: SchemaStatement,
): Generator<undefined, StatementResult> {
  const { edit } = change;
  // Before anything of the schema is told.
  requireAdministrator(edit.turn.caller.policy, edit.turn.caller.principal);
  edit.turn.budget.spend(DEFINITION_WORK);
  const values = new StatementValues(change);
  const name = values.text(statement.name);
  switch (statement.kind) {
    case 'create-definition':
      return yield* create(edit, statement, name, values);
    case 'alter-definition':
      return yield* alter(edit, statement, name, values);
    case 'drop-definition':
      return yield* drop(edit, statement, name);
  }
}

function* create(
  edit: EditScope,
  statement: CreateDefinitionStatement,
  name: string,
  values: StatementValues,
): Generator<undefined, StatementResult> {
  const { kind, noun } = targets[statement.target];
  requireNewName(edit.turn, statement.target, name);
  const definition = createdDefinition(statement, name, values);
  yield;
  yield* counted(edit, placeDefinition(edit, { kind, definition }), sizeOf(definition));
  return succeeded(`${noun} '${name}' created`, definitionMessage('Create', kind, name));
}

function* alter(
  edit: EditScope,
  statement: AlterDefinitionStatement,
  name: string,
  values: StatementValues,
): Generator<undefined, StatementResult> {
  const { kind, noun } = targets[statement.target];
  const stored = storedTarget(edit.turn, statement.target, name, 'ALTER');
  if (stored === undefined) throw missingTarget(statement.target, name);
  yield;
  const definition = alteredDefinition(statement, stored, values);
  yield;
  yield* counted(edit, placeDefinition(edit, { kind, definition, replaceName: name }), sizeOf(definition));
  return succeeded(`${noun} '${name}' altered`, definitionMessage('Update', kind, name));
}

function* drop(
  edit: EditScope,
  { ifExists, target }: DropDefinitionStatement,
  name: string,
): Generator<undefined, StatementResult> {
  const { kind, noun } = targets[target];
  const message = definitionMessage('Delete', kind, name);
  if (storedTarget(edit.turn, target, name, 'DROP') === undefined) {
    if (ifExists) return succeeded(`${noun} '${name}' does not exist`, message);
    throw missingTarget(target, name);
  }
  yield* counted(edit, dropDefinition(edit, kind, name));
  return succeeded(`${noun} '${name}' dropped`, message);
}

/** Number of members and mixins of a definition. */
function sizeOf({ fields, mixins, properties }: JsonObject): number {
  return [fields, mixins, properties].reduce<number>(
    (size, list) => size + (isJsonArray(list) ? list.length : 0),
    0,
  );
}

/**
 * Counts the steps of a change as work of the request: a transaction may change the same definitions many times.
 *
 * @param size of the definition, see {@link sizeOf}
 */
function* counted<T>(edit: EditScope, steps: Generator<undefined, T>, size = 0): Generator<undefined, T> {
  for (let count = 0; ; count += 1) {
    edit.turn.budget.spend(STEP_WORK + (count < CHECKING_STEPS ? size * MEMBER_WORK : 0));
    const step = steps.next();
    if (step.done === true) return step.value;
    yield;
  }
}
