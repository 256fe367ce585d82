import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import type { NodeHeader } from '#runtime/content/content-node.ts';
import { parentName } from '#runtime/content/path.ts';
import { translationsField } from '#runtime/content/translations/translation.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';

/** Bytes of a node record of format 1, as earlier builds wrote them. `runtime/tree/record/format-1.ts` has the layout. */
export function recordOfFormat1(h: NodeHeader, properties: JsonObject): Buffer {
  const front =
    `{"id":${JSON.stringify(h.id)},"name":${JSON.stringify(h.name)},"path":${JSON.stringify(h.path)}` +
    `,"node_type":${JSON.stringify(h.nodeType)},"archetype":${JSON.stringify(h.archetype)},"properties":{`;
  const middle = `"parent":${JSON.stringify(parentName(h.path))},"order_key":${JSON.stringify(h.orderKey)}`;
  const translations = h.translations === null ? null : translationsField(h.translations);
  const back =
    `,"version":${h.version},"created_at":"${h.createdAt}","updated_at":"${h.updatedAt}"` +
    `,"created_by":${JSON.stringify(h.createdBy)},"updated_by":${JSON.stringify(h.updatedBy)}` +
    `,"published_at":${JSON.stringify(h.publishedAt)},"published_by":${JSON.stringify(h.publishedBy)}` +
    `,"translations":${JSON.stringify(translations)},"owner_id":${JSON.stringify(h.ownerId)}` +
    `,"relations":${JSON.stringify(h.relations)}`;
  const inner = JSON.stringify([h.parentId, h.revision, h.operation, h.changedLocale, h.translations]);
  const ends: number[] = [];
  let text = '';
  for (const key of Object.keys(properties)) {
    text += `${ends.length === 0 ? '' : ','}${JSON.stringify(key)}`;
    ends.push(Buffer.byteLength(text));
    text += `:${JSON.stringify(properties[key])}`;
    ends.push(Buffer.byteLength(text));
  }
  const propertiesAt = Buffer.byteLength(front);
  const frontEnd = propertiesAt + Buffer.byteLength(text);
  const middleEnd = frontEnd + Buffer.byteLength(middle);
  const backEnd = middleEnd + Buffer.byteLength(back);
  const numbers = [ends.length / 2, frontEnd, middleEnd, backEnd, propertiesAt];
  const checked = Buffer.concat([
    bigEndian(numbers),
    Buffer.of(h.nodeType.length),
    Buffer.from(h.nodeType, 'latin1'),
    bigEndian(ends),
    Buffer.from(front + text + middle + back + inner),
  ]);
  return Buffer.concat([Buffer.of(1), bigEndian([crc32(checked)]), checked]);
}

function bigEndian(numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(numbers.length * 4);
  for (const [index, value] of numbers.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
}
