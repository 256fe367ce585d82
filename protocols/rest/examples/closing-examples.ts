import type { Exchange } from '#protocols/http/openapi/openapi-examples.ts';
import { rivers } from './example-records.ts';

/** Deletes the data that the other examples have created. */
export const closingExamples: readonly Exchange[] = [
  {
    operation: 'patchNode',
    summary: 'One property is changed, another one goes, the others stay.',
    parameters: { path: 'rivers' },
    body: { properties: { words: 950, author: null }, commit: { message: 'Nobody signs it', actor: 'bo' } },
    status: 200,
    answer: {
      node: {
        ...rivers,
        path: '/rivers',
        parent: '/',
        properties: {
          title: 'Rivers in flood',
          words: 950,
          $supertypes: ['svc:Folder'],
          $mixins: [],
        },
        version: 5,
      },
      revision: '1805036999000-0',
      committed: true,
    },
  },
  {
    operation: 'deleteNode',
    name: 'property',
    summary: 'One property.',
    parameters: { path: 'rivers@words' },
    status: 200,
    answer: { deleted: true },
  },
  {
    operation: 'deleteMixin',
    summary: 'With a message.',
    parameters: { name: 'mag:Searchable' },
    body: { message: 'Nobody uses it', actor: 'ada' },
    status: 204,
  },
  {
    operation: 'deleteArchetype',
    summary: 'With a message.',
    parameters: { name: 'mag:Interview' },
    body: { message: 'Nobody uses it', actor: 'ada' },
    status: 204,
  },
  {
    operation: 'deleteElementType',
    summary: 'With a message.',
    parameters: { name: 'mag:Quote' },
    body: { message: 'Nobody uses it', actor: 'ada' },
    status: 204,
  },
  {
    operation: 'deleteNodeType',
    summary: 'Its nodes stay readable.',
    parameters: { name: 'mag:Article' },
    body: { message: 'Nobody writes any more', actor: 'ada' },
    status: 204,
  },
  {
    operation: 'deleteBranch',
    summary: 'With everything on it.',
    parameters: { branch: 'drafts' },
    status: 204,
  },
  { operation: 'deleteRepository', summary: 'With everything in it.', status: 204 },
  {
    operation: 'changeAdminPassword',
    summary: 'The own password.',
    body: { old_password: 'Tour-guide-2026', new_password: 'Tour-guide-2027' },
    status: 204,
  },
  {
    operation: 'resetAdminPassword',
    summary: 'A lost password.',
    body: { username: 'admin', new_password: 'Tour-guide-2028', must_change_password: false },
    status: 204,
  },
];
