import { hash } from 'node:crypto';
import type { ResolvedNodeType } from '#runtime/content/type-resolver.ts';
import { derivedTypeText } from './render-node.ts';

/**
 * Number of the way a node object is written. Raise it with every change to that: answers of the build before it then
 * count as changed.
 */
const RENDERING = 1;

/** Characters of a hash in a tag: 48 bits, for values that few others are compared with. */
const MARK_LENGTH = 8;

const typeMarks = new WeakMap<ResolvedNodeType, string>();
let noTypeMark: string | undefined;

/**
 * The entity tag of a node object, without quotes: `{revision}.{mark}{children}`, and `.{variant}` behind it. The
 * revision is the one that wrote the state of the node, which with its address names the stored bytes; the mark stands
 * for what the answer takes from the node type; then 1 when it has children, else 0; then `-` and a mark where relations
 * are not shown.
 *
 * Nothing that is large is hashed.
 *
 * @param type undefined when it has been deleted
 * @param hidden mark of the relations that are left out, from `shownRelations`
 * @param variant from {@link variantMark}; absent: the node as it is stored, whole
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

/** Stands for everything that makes an answer differ from the whole node: locales, fields, nodes that were added. */
export function variantMark(parts: readonly unknown[]): string {
  return markOf(JSON.stringify(parts));
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
