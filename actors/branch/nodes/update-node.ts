import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { isDerivedName } from '#runtime/content/definitions/derived-names.ts';
import { mergePatch } from '#runtime/content/values/merge-patch.ts';
import { removeProperty, setProperty } from '#runtime/content/values/property-path.ts';
import { patchedTranslations, storedTranslations } from '#runtime/content/translations/translation.ts';
import {
  prepareProperties,
  requireArchetype,
  stripDerived,
} from '#runtime/content/validation/validate-node.ts';
import { requireLightRole } from '#runtime/access/roles/role-weight.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { recordValues } from '#runtime/tree/record-weight.ts';
import type { EditScope } from '../edit-scope.ts';
import type {
  NodeWritten,
  PatchNode,
  RemoveProperty,
  SetProperty,
  UpdateNode,
  Written,
} from '../messages.ts';
import { keptTranslations, propertyAt, replacedProperties, translatedNames } from './field-writes.ts';
import { requireShortOwner } from './owner-bound.ts';
import { resolveReferences, valueResolver } from './resolve-references.ts';
import { requireFewValues } from './values-bound.ts';

/**
 * Estimated nanoseconds to merge, check and encode the properties of a node: for each property, and for each value in
 * them. Objects with many keys are slow, so a property costs much more than a value.
 */
const PROPERTY_WORK = 6_000;
const VALUE_WORK = 500;

/** Replaces the properties of a node. @see messages.ts, UpdateNode */
export function* updateNode(edit: EditScope, command: UpdateNode): Generator<undefined, NodeWritten> {
  const { workspace } = command;
  const old = yield* edit.requireTarget(command, 'update');
  if (command.nodeType !== undefined && command.nodeType !== old.header.nodeType) {
    throw invalid('Cannot change node_type after creation', { field: 'node_type' });
  }
  const next = yield* replacedNode(edit, workspace, old, command);
  yield* edit.replaceInSteps(workspace, old, next);
  edit.audit(workspace, next, 'Update');
  return yield* nodeWritten(edit, command, next);
}

/**
 * The state of a node with given fields replaced; absent ones stay. Properties that are hidden from the caller stay too.
 *
 * @param old the caller may update it
 * @returns yields where the work may pause, which it does only for a large node
 * @throws {ServiceError} `VALIDATION_FAILED`, `PERMISSION_DENIED`, `REQUEST_TOO_EXPENSIVE`
 */
export function* replacedNode(
  edit: EditScope,
  workspace: string,
  old: NodeRecord,
  given: Pick<UpdateNode, 'properties' | 'translations' | 'archetype' | 'ownerId'>,
): Generator<undefined, NodeRecord> {
  const archetype = given.archetype === undefined ? old.header.archetype : given.archetype;
  edit.access.authorizeFields('update', workspace, old, translatedNames(given.translations));
  const properties =
    given.properties === undefined
      ? yield* old.decode()
      : yield* replacedProperties(edit, workspace, old, given.properties);
  return yield* changedNode(edit, workspace, old, properties, archetype, given);
}

/** Changes parts of a node. @see messages.ts, PatchNode */
export function* patchNode(edit: EditScope, command: PatchNode): Generator<undefined, NodeWritten> {
  const { properties: patch, translations: translated, workspace } = command;
  const old = yield* edit.requireTarget(command, 'update');
  const { header } = old;
  edit.access.authorizeFields('update', workspace, old, Object.keys(patch ?? {}));
  edit.access.authorizeFields('update', workspace, old, translatedNames(translated));
  const stored = yield* old.decode();
  const given = patch === undefined ? stored : ((yield* mergePatch(stored, patch)) as JsonObject);
  const translations = translated && (yield* patchedTranslations(header.translations, translated));
  const archetype = command.archetype === undefined ? header.archetype : command.archetype;
  const more = { ...command, ...(translations === undefined ? {} : { translations }) };
  const next = yield* changedNode(edit, workspace, old, given, archetype, more);
  yield* requireFewValues(edit, old, next);
  yield* edit.replaceInSteps(workspace, old, next);
  edit.audit(workspace, next, 'Update');
  return yield* nodeWritten(edit, command, next);
}

function* nodeWritten(
  edit: EditScope,
  { commit, workspace }: UpdateNode | PatchNode,
  next: NodeRecord,
): Generator<undefined, NodeWritten> {
  const { id: nodeId } = next.header;
  const revision = edit.finish(commit, `Updated node: ${nodeId}`) as string;
  const hasChildren = yield* edit.hasChildrenInSteps(workspace, nodeId);
  const node = yield* edit.renderInSteps(workspace, next, hasChildren);
  return { node, nodeId, revision, tag: yield* edit.tagInSteps(workspace, next, hasChildren) };
}

/** Removes one property, nested by keys. @see messages.ts, RemoveProperty */
export function* removeNodeProperty(edit: EditScope, command: RemoveProperty): Generator<undefined, Written> {
  const { property, workspace } = command;
  const old = yield* edit.requireTarget(command, 'update');
  const stored = yield* old.decode();
  edit.access.authorizeFields('update', workspace, old, [propertyAt(stored, property)]);
  requireStorable(stored, property);
  const properties = removeProperty(stored, property);
  const name = property.join('.');
  if (properties === undefined) {
    throw new ServiceError('NOT_FOUND', `Node '${old.header.path}' has no property '${name}'`);
  }
  const next = yield* changedNode(edit, workspace, old, properties, old.header.archetype, {});
  yield* edit.replaceInSteps(workspace, old, next);
  edit.audit(workspace, next, 'UpdateProperty', { property: name });
  return { revision: edit.finish(command.commit, `Updated node: ${old.header.id}`) };
}

/** Sets one property, nested by keys. @see messages.ts, SetProperty */
export function* setNodeProperty(edit: EditScope, command: SetProperty): Generator<undefined, Written> {
  const { workspace } = command;
  const old = yield* edit.requireTarget(command, 'update');
  const stored = yield* old.decode();
  edit.access.authorizeFields('update', workspace, old, [propertyAt(stored, command.property)]);
  requireStorable(stored, command.property);
  const properties = setProperty(stored, command.property, command.value);
  const next = yield* changedNode(edit, workspace, old, properties, old.header.archetype, {});
  yield* requireFewValues(edit, old, next);
  yield* edit.replaceInSteps(workspace, old, next);
  edit.audit(workspace, next, 'UpdateProperty', { property: command.property.join('.') });
  return { revision: edit.finish(command.commit, `Updated node: ${old.header.id}`) };
}

/** Refuses the address of a property that comes from the type. @throws {ServiceError} `VALIDATION_FAILED` */
function requireStorable(properties: JsonObject, keys: readonly string[]): void {
  const [name] = keys;
  if (name === undefined || !isDerivedName(name)) return;
  // A stored property may have a name with dots that starts this way.
  if (keys.length > 1 && Object.hasOwn(properties, keys.join('.'))) return;
  throw invalid(`'${name}' comes from the node type and cannot be written`, { field: 'property' });
}

/**
 * The state of a node with other properties, checked against its type and archetype. It pauses only when they are
 * large.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`; `REQUEST_TOO_EXPENSIVE`
 */
export function* changedNode(
  edit: EditScope,
  workspace: string,
  old: NodeRecord,
  given: JsonObject,
  archetypeName: string | null,
  more: { readonly translations?: JsonObject | null; readonly ownerId?: string | null },
): Generator<undefined, NodeRecord> {
  edit.requireMutable(workspace, old);
  // What is stored, because what a request adds is bounded with its body. Many small changes of a large node are not.
  const values = yield* recordValues(old);
  edit.turn.budget.spend(old.propertyBytes().count * PROPERTY_WORK + values * VALUE_WORK);
  const type = edit.requireType(workspace, old.header.nodeType);
  const schema = edit.schema(workspace);
  const archetype = archetypeName === null ? null : requireArchetype(archetypeName, type, schema);
  const properties = prepareProperties(
    type,
    archetype,
    stripDerived(given),
    schema,
    'update',
    edit.turn.budget,
  );
  yield* requireLightRole(workspace, type.name, properties, old);
  let { translations } = old.header;
  if (more.translations != null) {
    const rules = { type, archetype, source: schema, budget: edit.turn.budget };
    const node = { properties, now: edit.now, resolve: valueResolver(edit, workspace), rules };
    translations = yield* storedTranslations(node, more.translations, edit.state.languages(), translations);
  } else if (more.translations === null) translations = null;
  if (more.translations !== undefined)
    translations = keptTranslations(edit, 'update', workspace, old, translations);
  const { archetype: former, ownerId: present } = old.header;
  const ownerId = more.ownerId === undefined ? present : requireShortOwner(more.ownerId, present);
  if (ownerId !== present) edit.access.authorizeBesideFields('update', workspace, old, 'owner');
  if (archetypeName !== former) edit.access.authorizeBesideFields('update', workspace, old, 'archetype');
  return yield* edit.nextInSteps(
    old,
    { archetype: archetypeName, translations, ownerId },
    resolveReferences(edit, workspace, properties),
  );
}
