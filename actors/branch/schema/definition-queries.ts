import { requireLogin } from '#runtime/access/policy.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { requireAllowedInWorkspace } from '#runtime/content/validation/allowed-children.ts';
import {
  resolvedArchetypeJson,
  resolvedElementTypeJson,
} from '#runtime/content/resolution/field-resolver.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import { missingNodeType, resolvedNodeTypeJson } from '#runtime/content/resolution/type-resolver.ts';
import { sanitizeName } from '#runtime/content/path.ts';
import {
  fillDefaults,
  requireArchetype,
  requireInstantiable,
  stripDerived,
  validateProperties,
} from '#runtime/content/validation/validate-node.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { uniqueValue } from '#runtime/index/unique-value.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import { listDefinitions as listStored, readDefinition as readStored } from '#runtime/tree/schema-store.ts';
import type { BranchState } from '../branch-state.ts';
import { uniqueHolder } from '../pair/pair-queries.ts';
import { NodeAccess } from '../reads/node-access.ts';
import { builtInsPending } from './built-ins.ts';
import { definitionNotFound, isOfKind, storedKind } from './definitions.ts';
import type {
  BranchState as ShownState,
  ListDefinitions,
  ReadBranchState,
  ReadDefinition,
  ResolveDefinition,
  ValidateNode,
} from '../messages.ts';

/** Definitions of a kind, sorted by name. @see messages.ts, ListDefinitions */
export function listDefinitions(
  _state: BranchState,
  context: QueryContext,
  query: ListDefinitions,
): readonly unknown[] {
  requireLogin(context.caller.principal);
  const all = listStored(context.view, storedKind(query.kind), query.at);
  return all.filter(
    (definition) =>
      isOfKind(query.kind, definition) && (!query.publishedOnly || definition.published_at !== null),
  );
}

/** One definition. @see messages.ts, ReadDefinition */
export function readDefinition(_state: BranchState, context: QueryContext, query: ReadDefinition): unknown {
  requireLogin(context.caller.principal);
  const definition = readStored(context.view, storedKind(query.kind), query.name, query.at);
  if (definition === undefined || !isOfKind(query.kind, definition))
    throw definitionNotFound(query.kind, query.name);
  return definition;
}

/** A definition with everything it inherits. @see messages.ts, ResolveDefinition */
export function resolveDefinition(
  state: BranchState,
  context: QueryContext,
  query: ResolveDefinition,
): unknown {
  requireLogin(context.caller.principal);
  const { kind, name, at } = query;
  const pins =
    query.workspace === undefined ? undefined : state.workspace(query.workspace).config.node_type_pins;
  const schema = state.querySchemas.get(context.view, {
    ...(at === undefined ? {} : { at }),
    ...(pins === undefined ? {} : { pins }),
  });
  if (kind === 'node_type') {
    const type = schema.nodeType(name);
    if (type === undefined && schema.pinOf?.(name) !== undefined) {
      throw new ServiceError('NODE_TYPE_NOT_FOUND', missingNodeType(name, schema));
    }
    if (type === undefined || type.nodeType.is_mixin === true) throw definitionNotFound(kind, name);
    return resolvedNodeTypeJson(type);
  }
  if (kind === 'archetype') {
    const archetype = schema.archetype(name);
    if (archetype === undefined) throw definitionNotFound(kind, name);
    return resolvedArchetypeJson(archetype);
  }
  const element = schema.elementType(name);
  if (element === undefined) throw definitionNotFound(kind, name);
  return resolvedElementTypeJson(element);
}

/**
 * The write-time checks of a node at the root of a workspace, without storing: names, types, workspace lists,
 * required, strict, constraints, archetype and element fields, uniqueness.
 *
 * @see docs/interface/node-types.md#validating-a-node
 */
export function validateNode(
  state: BranchState,
  context: QueryContext,
  query: ValidateNode,
): { valid: boolean; errors: string[] } {
  requireLogin(context.caller.principal);
  const { node } = query;
  const workspace = state.workspace(query.workspace);
  const schema = state.querySchemas.get(context.view, { pins: workspace.config.node_type_pins });
  const errors: string[] = [];
  const check = <T>(run: () => T): T | undefined => {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof ServiceError) || error.entry.status >= 500) throw error;
      errors.push(error.message);
      return undefined;
    }
  };
  check(() => sanitizeName(node.name));
  const before = errors.length;
  const type = check(() => schema.nodeType(node.nodeType));
  if (type === undefined) {
    // Either the type exists and does not resolve, which is reported already, or it does not exist.
    if (errors.length === before) errors.push(missingNodeType(node.nodeType, schema));
    return { valid: false, errors };
  }
  check(() => requireInstantiable(type));
  check(() => requireAllowedInWorkspace(workspace, node.nodeType, false));
  const archetypeName = node.archetype ?? null;
  const archetype =
    archetypeName === null ? null : (check(() => requireArchetype(archetypeName, type, schema)) ?? null);
  const properties = fillDefaults(type, archetype, stripDerived(node.properties));
  const issues = validateProperties(type, archetype, properties, schema, context.budget);
  for (const issue of issues) errors.push(issue.message);
  const access = new NodeAccess(context, context.view);
  access.together(() => {
    for (const name of type.unique) {
      const given = Object.hasOwn(properties, name) ? properties[name] : undefined;
      const holder = given === undefined ? undefined : holderOf(context.view, access, query, name, given);
      if (holder !== undefined)
        errors.push(`Property '${name}' must be unique; ${holder} has the same value`);
    }
  });
  return { valid: errors.length === 0, errors };
}

/**
 * The node that already has a unique value. Nobody is told of a value that may not be read: the write says that it is taken,
 * to those who may write.
 */
function holderOf(
  view: TableReader,
  access: NodeAccess,
  { node: { nodeType }, workspace }: ValidateNode,
  property: string,
  given: JsonValue,
): string | undefined {
  const value = uniqueValue(given);
  const id = value === undefined ? undefined : uniqueHolder(view, { workspace, nodeType, property, value });
  if (id === undefined) return undefined;
  const tree = new HeadNodeReader(view);
  const holder = atOnce(tree.byIdInSteps(workspace, id));
  if (holder === undefined || !access.mayRead(workspace, holder)) return undefined;
  return access.shownFields(workspace, holder).has(property) ? `'${holder.path}'` : undefined;
}

/** The state of the branch. @see messages.ts, ReadBranchState */
export function readBranchState(
  state: BranchState,
  context: QueryContext,
  _query: ReadBranchState,
): ShownState {
  const { view } = context;
  return state.rememberedState(view, () => ({
    head: formatRevision(readBranchHead(view).head),
    // Computed on demand: the head is read with every request, and this costs ten times as much.
    get builtInsPending() {
      return builtInsPending(view);
    },
  }));
}
