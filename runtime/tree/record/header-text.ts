import type { NodeHeader } from '#runtime/content/content-node.ts';
import { parentName } from '#runtime/content/path.ts';
import { Column, type TextColumn } from './record-layout.ts';

/** The text of a column of a decoded header; null where it has none. */
export function headerText(header: NodeHeader, column: TextColumn): string | null {
  switch (column) {
    case Column.parentId:
      return header.parentId;
    case Column.changedLocale:
      return header.changedLocale;
    case Column.parent:
      return parentName(header.path);
    case Column.orderKey:
      return header.orderKey;
    case Column.createdAt:
      return header.createdAt;
    case Column.updatedAt:
      return header.updatedAt;
    case Column.createdBy:
      return header.createdBy;
    case Column.updatedBy:
      return header.updatedBy;
    case Column.publishedAt:
      return header.publishedAt;
    case Column.publishedBy:
      return header.publishedBy;
    case Column.ownerId:
      return header.ownerId;
    case Column.id:
      return header.id;
    case Column.name:
      return header.name;
    case Column.path:
      return header.path;
    case Column.nodeType:
      return header.nodeType;
    case Column.archetype:
      return header.archetype;
  }
}
