import { formatPointer } from '#runtime/content/translations/translation-pointer.ts';
import { type JsonObject, type JsonValue, setKey } from '#runtime/content/values/json-value.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { Moment } from '#runtime/scan/moment.ts';
import { givenValue } from '#runtime/sql-plan/given-values.ts';
import type { TranslatedValue, TranslateStatement } from '#runtime/sql-syntax/nodes/tree-nodes.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../../../edit-scope.ts';
import { mergeTranslation } from '../../../nodes/translate-node.ts';
import { affectedRows, type ChangeContext, type StatementResult } from '../change-context.ts';
import { givenLocale } from './given-locale.ts';
import { placeOf, requireNamed, textOf, workspaceOf } from './named-nodes.ts';

/** What a statement writes to each of its nodes. */
interface Translation {
  readonly workspace: string;
  readonly locale: string;
  /** By JSON pointer; null drops a value. */
  readonly change: JsonObject;
}

/**
 * Translates values of a node, or of all nodes of a type, to a locale. Values that are not named stay, and NULL drops one.
 * Of the nodes of a type those that the caller may not translate are left out.
 *
 * @returns `affected_rows`: the nodes
 * @throws {ServiceError} `NODE_NOT_FOUND`; `PERMISSION_DENIED`; `WORKSPACE_NOT_FOUND`; `COMMIT_TOO_LARGE`;
 *   `VALIDATION_FAILED` without a condition, for a bad locale, a value that is named twice, and as `mergeTranslation`
 * @see docs/interface/sql-tree.md#translate
 */
export function* translateStatement(
  change: ChangeContext,
  statement: TranslateStatement,
): Generator<undefined, StatementResult> {
  const { node, nodeType } = statement;
  if (node === undefined && nodeType === undefined)
    throw invalid('TRANSLATE requires a WHERE clause to identify target node(s)');
  const translation: Translation = {
    workspace: workspaceOf(change, statement.workspace),
    locale: givenLocale(change, statement.locale, 'TRANSLATE'),
    change: changeOf(change, statement.values),
  };
  const type = nodeType === undefined ? undefined : textOf(change, nodeType);
  if (node === undefined) return yield* translateType(change.edit, translation, type as string);
  const { locale, workspace } = translation;
  const record = yield* requireNamed(change, workspace, placeOf(change, node), 'translate', 'Node');
  const { header } = record;
  const message = `Translated node to ${locale}: ${header.id}`;
  if (type !== undefined && header.nodeType !== type) return affectedRows(0, message);
  yield* mergeTranslation(change.edit, workspace, record, locale, translation.change);
  return affectedRows(1, message);
}

function* translateType(
  edit: EditScope,
  { change, locale, workspace }: Translation,
  nodeType: string,
): Generator<undefined, StatementResult> {
  edit.workspace(workspace);
  // Listed before the first is written: a scan must not go over what is being changed.
  const ids: string[] = [];
  for (const row of edit.access.rows(new Moment(edit.turn), {
    source: { kind: 'paths', workspace, nodeType },
    budget: edit.turn.budget,
  })) {
    yield;
    if (row === undefined) continue;
    ids.push(row.id);
    edit.checkSize(ids.length);
  }
  let written = 0;
  for (const id of ids) {
    yield;
    const record = (yield* edit.head.byIdInSteps(workspace, id)) as NodeRecord;
    if (!edit.access.allows('translate', workspace, record)) continue;
    if (yield* isTranslated(mergeTranslation(edit, workspace, record, locale, change))) written += 1;
  }
  return affectedRows(written, `Translated ${written} nodes to ${locale}`);
}

/** Whether a node was translated: false where the caller may not set one of the values. */
function* isTranslated(work: Generator<undefined, unknown>): Generator<undefined, boolean> {
  try {
    yield* work;
    return true;
  } catch (error) {
    // Permissions are asked about before anything is written.
    if (error instanceof ServiceError && error.code === 'PERMISSION_DENIED') return false;
    throw error;
  }
}

function changeOf({ scope, source }: ChangeContext, values: readonly TranslatedValue[]): JsonObject {
  const change: Record<string, JsonValue> = {};
  for (const { path, span, value } of values) {
    const pointer = formatPointer(path.map((step) => (step.kind === 'key' ? step.key : step.uuid)));
    if (Object.hasOwn(change, pointer))
      throw sqlError('TRANSLATE: The same value is set twice', source, span);
    setKey(change, pointer, givenValue(value, scope, source));
  }
  return change;
}
