import type { ResolvedSource } from '#runtime/content/resolution/schema-resolver.ts';
import type { ResolvedNodeType } from '#runtime/content/resolution/type-resolver.ts';
import { AddedFields } from '#runtime/tree/record/write-record.ts';
import { derivedTypeText } from '#runtime/tree/render-node.ts';

/** Types that are kept of one schema and workspace. Names of deleted types may come from stored nodes. */
const TYPES_MAX = 1_024;

/** A type of nodes as reads of single nodes need it. */
export interface KnownType {
  /** Undefined when it has been deleted. */
  readonly type: ResolvedNodeType | undefined;
  /** What its nodes have besides their stored fields. */
  readonly added: AddedFields;
}

const known = new WeakMap<ResolvedSource, Map<string, Map<string, KnownType>>>();

function typesOf(schema: ResolvedSource, workspace: string): Map<string, KnownType> {
  let ofSchema = known.get(schema);
  if (ofSchema === undefined) {
    ofSchema = new Map();
    known.set(schema, ofSchema);
  }
  let types = ofSchema.get(workspace);
  if (types === undefined) {
    types = new Map();
    ofSchema.set(workspace, types);
  }
  return types;
}

/** A type that was learned before: nothing is read. @param schema one state of the schema, as the workspace sees it */
export function knownType(schema: ResolvedSource, workspace: string, name: string): KnownType | undefined {
  return typesOf(schema, workspace).get(name);
}

/** Keeps a type for {@link knownType} as long as its schema is kept. */
export function learnType(
  schema: ResolvedSource,
  workspace: string,
  name: string,
  type: ResolvedNodeType | undefined,
): void {
  const types = typesOf(schema, workspace);
  if (types.size >= TYPES_MAX) types.clear();
  types.set(name, { type, added: new AddedFields(workspace, derivedTypeText(type)) });
}
