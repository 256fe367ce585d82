import { hash } from 'node:crypto';
import type { ResolvedNodeType } from '#runtime/content/resolution/type-resolver.ts';
import { derivedTypeText } from './render-node.ts';

/**
 * Version of the rendering of node objects. Raise it with every change of the rendering: tags of earlier builds then no
 * longer match.
 */
const RENDERING = 1;

/** Length of a hash in a tag: 48 bits, because each value is compared with few others. */
const MARK_LENGTH = 8;

const typeMarks = new WeakMap<ResolvedNodeType, string>();
let noTypeMark: string | undefined;

/**
 * The entity tag of a node object, without quotes: `{revision}.{mark}{children}`, then optionally `.{variant}`. The
 * revision is the one that wrote the state of the node; with the node's address it identifies the stored bytes. The
 * mark stands for the fields derived from the node type. `children` is 1 when the node has children, else 0, followed
 * by `-` and a mark when relations or properties are left out, or could be.
 *
 * Nothing large is hashed.
 *
 * @param type undefined when it has been deleted
 * @param hidden mark of what is left out, from `shownRelations` or {@link joinedMark}
 * @param variant from {@link variantMark}; absent: the whole node as it is stored
 * @see docs/interface/conditions.md
 */
export function nodeTag(
  revision: string,
  type: ResolvedNodeType | undefined,
  hasChildren: boolean,
  hidden?: string,
  variant?: string,
): string {
  const whole = `${revision}.${typeMark(type)}${hasChildren ? '1' : '0'}`;
  const tag = hidden === undefined ? whole : `${whole}-${hidden}`;
  return variant === undefined ? tag : `${tag}.${variant}`;
}

/** A hash of everything that makes an answer differ from the whole node: locales, fields, added nodes. */
export function variantMark(parts: readonly unknown[]): string {
  return markOf(JSON.stringify(parts));
}

/** The mark for a tag of two things that are left out of a node. */
export function joinedMark(
  relations: string | undefined,
  properties: string | undefined,
): string | undefined {
  return properties === undefined ? relations : variantMark([relations ?? null, properties]);
}

function typeMark(type: ResolvedNodeType | undefined): string {
  if (type === undefined) {
    noTypeMark ??= markOf(`${RENDERING}${derivedTypeText(undefined)}`);
    return noTypeMark;
  }
  let mark = typeMarks.get(type);
  if (mark === undefined) {
    mark = markOf(`${RENDERING}${derivedTypeText(type)}`);
    typeMarks.set(type, mark);
  }
  return mark;
}

function markOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, MARK_LENGTH);
}
