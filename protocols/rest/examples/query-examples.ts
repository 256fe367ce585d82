import type { Exchange } from '#protocols/http/openapi/openapi-examples.ts';
import { gardens, rivers, springIssue } from './example-records.ts';

const historyEntry = {
  revision: '1805036974000-0',
  updated_at: '2027-03-14T15:09:26.000Z',
  updated_by: 'admin',
  deleted: false,
  message: 'Shorter',
  is_system: false,
};

const auditEntry = {
  id: '01a44700-0000-7000-8000-000000000013',
  node_id: '01a44700-0000-7000-8000-000000000007',
  path: '/spring-issue/gardens',
  workspace: 'content',
  user_id: 'admin',
  action: 'Update',
  timestamp: '2027-03-14T15:09:26.000Z',
  details: null,
};

const lastRevision = {
  revision: '1805036977000-0',
  parent: '1805036976000-0',
  merge_parent: null,
  branch: 'main',
  timestamp: '2027-03-14T15:09:26.000Z',
  actor: 'ada',
  author: 'admin',
  message: 'No autumn issue',
  is_system: false,
  changed_nodes: [
    { node_id: '01a44700-0000-7000-8000-000000000012', workspace: 'content', operation: 'deleted' },
  ],
  changed_node_types: [],
  changed_archetypes: [],
  changed_element_types: [],
};

/** Queries, history, revisions and reads of the past. */
export const queryExamples: readonly Exchange[] = [
  {
    operation: 'queryNodes',
    summary: 'All articles, one at a time.',
    body: { nodeType: 'mag:Article', limit: 1 },
    status: 200,
    answer: {
      items: [{ ...rivers, path: '/rivers', parent: '/', version: 4 }],
      page: { total: 5, limit: 1, offset: 0, nextOffset: 1 },
    },
  },
  {
    operation: 'queryNodesByDsl',
    summary: 'Root-level nodes by their name.',
    body: { name: { like: 'rivers' }, order_by: { name: 'asc' }, limit: 10 },
    status: 200,
    answer: {
      items: [{ ...rivers, path: '/rivers', parent: '/', version: 4 }],
      page: { total: 1, limit: 10, offset: 0, nextOffset: null },
    },
  },
  {
    operation: 'runSql',
    summary: 'Titles of long articles, by the number of words.',
    body: {
      sql: "SELECT name, properties->>'title' AS title FROM 'content' WHERE node_type = $1 AND name = $2",
      params: ['mag:Article', 'rivers'],
    },
    status: 200,
    answer: {
      columns: ['name', 'title'],
      rows: [{ name: 'rivers', title: rivers.properties.title }],
      row_count: 1,
      execution_time_ms: 1.25,
    },
  },
  {
    operation: 'runSql',
    name: 'error',
    summary: 'A name that is not there.',
    body: { sql: "SELECT titel FROM 'content'" },
    status: 400,
    answer: {
      code: 'VALIDATION_FAILED',
      message: 'Column not found: titel',
      details: { line: 1, column: 8 },
      timestamp: '2027-03-14T15:09:26.000Z',
    },
    isExcerpt: true,
  },
  {
    operation: 'runSql',
    name: 'transaction',
    summary: 'What a change would do: the transaction is not committed.',
    body: {
      sql: "BEGIN; UPDATE 'content' SET name = $1 WHERE path = '/rivers' RETURNING name, path",
      params: ['streams'],
    },
    status: 200,
    answer: {
      columns: ['name', 'path'],
      rows: [{ name: 'streams', path: '/streams' }],
      row_count: 1,
      execution_time_ms: 2.5,
    },
  },
  {
    operation: 'runSqlOnBranch',
    summary: 'How a statement would be run.',
    parameters: { branch: 'main' },
    body: { sql: "EXPLAIN SELECT id FROM 'content' WHERE path = '/rivers'" },
    status: 200,
    answer: {
      columns: ['QUERY PLAN'],
      rows: [{ 'QUERY PLAN': '=== Physical Execution Plan ===\n  PathIndexScan: path=/rivers' }],
      row_count: 1,
      execution_time_ms: 0.4,
      explain_plan: '=== Physical Execution Plan ===\n  PathIndexScan: path=/rivers',
    },
    isExcerpt: true,
  },
  {
    operation: 'readHistory',
    summary: 'The newest revision of a node.',
    parameters: { path: 'spring-issue/gardens', limit: 1 },
    status: 200,
    answer: [historyEntry],
  },
  {
    operation: 'readHistoryById',
    summary: 'The same by its id.',
    parameters: { id: '01a44700-0000-7000-8000-000000000007', limit: 1 },
    status: 200,
    answer: [historyEntry],
  },
  {
    operation: 'readAudit',
    summary: 'The newest entry.',
    parameters: { path: 'spring-issue/gardens', limit: 1 },
    status: 200,
    answer: [auditEntry],
  },
  {
    operation: 'readAuditById',
    summary: 'The same by its id.',
    parameters: { id: '01a44700-0000-7000-8000-000000000007', limit: 1 },
    status: 200,
    answer: [auditEntry],
  },
  {
    operation: 'listRevisions',
    summary: 'The newest revision.',
    parameters: { branch: 'main', limit: 1 },
    status: 200,
    answer: { revisions: [lastRevision], total: 32, has_more: true },
  },
  {
    operation: 'readRevision',
    summary: 'One revision.',
    parameters: { revision: '1805036977000-0' },
    status: 200,
    answer: lastRevision,
  },
  {
    operation: 'readRevisionChanges',
    summary: 'What it changed.',
    parameters: { revision: '1805036977000-0' },
    status: 200,
    answer: [
      {
        node_id: '01a44700-0000-7000-8000-000000000012',
        workspace: 'content',
        operation: 'deleted',
        node_type: 'svc:Folder',
        path: '/autumn-issue',
      },
    ],
  },
  {
    operation: 'readNodeAtRevision',
    summary: 'As it was then.',
    parameters: { path: 'spring-issue/gardens', revision: '1805036967000-0' },
    status: 200,
    answer: gardens,
  },
  {
    operation: 'readNodeAtRevision',
    name: 'yaml',
    summary: 'As it was then, as YAML.',
    parameters: { path: 'spring-issue/gardens.yaml', revision: '1805036967000-0' },
    status: 200,
    answer: 'name: gardens\npath: /spring-issue/gardens\nnode_type: mag:Article\n',
    answerType: 'text/yaml',
    isExcerpt: true,
  },
  {
    operation: 'queryNodesAtRevision',
    summary: 'A node by its path, as it was then.',
    parameters: { revision: '1805036967000-0' },
    body: { path: '/spring-issue/gardens' },
    status: 200,
    answer: { items: [gardens], page: { total: 1, limit: null, offset: 0, nextOffset: null } },
  },
  {
    operation: 'queryNodesByDslAtRevision',
    summary: 'Root-level folders, as they were then.',
    parameters: { revision: '1805036967000-0' },
    body: { node_type: { eq: 'svc:Folder' } },
    status: 200,
    answer: {
      items: [{ ...springIssue, has_children: true }],
      page: { total: 1, limit: null, offset: 0, nextOffset: null },
    },
  },
  {
    operation: 'refuseCreateAtRevision',
    summary: 'Refused.',
    parameters: { path: 'spring-issue/gardens', revision: '1805036967000-0' },
    status: 405,
    answer: {
      code: 'READ_ONLY_REVISION',
      message: 'An earlier revision cannot be written; write to the head.',
      timestamp: '2027-03-14T15:09:26.000Z',
    },
  },
  {
    operation: 'refuseUpdateAtRevision',
    summary: 'Refused.',
    parameters: { path: 'spring-issue/gardens', revision: '1805036967000-0' },
    status: 405,
    answer: {
      code: 'READ_ONLY_REVISION',
      message: 'An earlier revision cannot be written; write to the head.',
      timestamp: '2027-03-14T15:09:26.000Z',
    },
  },
  {
    operation: 'refusePatchAtRevision',
    summary: 'Refused.',
    parameters: { path: 'spring-issue/gardens', revision: '1805036967000-0' },
    status: 405,
    answer: {
      code: 'READ_ONLY_REVISION',
      message: 'An earlier revision cannot be written; write to the head.',
      timestamp: '2027-03-14T15:09:26.000Z',
    },
  },
  {
    operation: 'refuseDeleteAtRevision',
    summary: 'Refused.',
    parameters: { path: 'spring-issue/gardens', revision: '1805036967000-0' },
    status: 405,
    answer: {
      code: 'READ_ONLY_REVISION',
      message: 'An earlier revision cannot be written; write to the head.',
      timestamp: '2027-03-14T15:09:26.000Z',
    },
  },
];
