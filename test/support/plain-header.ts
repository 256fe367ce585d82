import type { NodeHeader } from '#runtime/content/content-node.ts';

/** The header of a new node without anything special, for tests that change some fields of it. */
export const plainHeader: NodeHeader = {
  id: 'n1',
  name: 'a',
  path: '/a',
  nodeType: 'svc:Page',
  archetype: null,
  parentId: '/',
  orderKey: 'V',
  version: 1,
  createdAt: '2026-01-01T00:00:00.000Z',
  createdBy: 'ada',
  updatedAt: '2026-01-01T00:00:00.000Z',
  updatedBy: 'ada',
  publishedAt: null,
  publishedBy: null,
  ownerId: null,
  translations: null,
  relations: [],
  revision: '1-0',
  operation: 'added',
  changedLocale: null,
};
