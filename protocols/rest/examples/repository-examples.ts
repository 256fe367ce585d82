import type { Exchange } from '#protocols/http/openapi/openapi-examples.ts';

const record = {
  default_branch: 'main',
  description: 'Our first issue',
  tags: {},
  default_language: 'en',
  supported_languages: ['en', 'de'],
  locale_fallback_chains: {},
};

/** A repository and its workspaces. */
export const repositoryExamples: readonly Exchange[] = [
  {
    operation: 'createRepository',
    summary: 'A repository in two languages.',
    body: { repo_id: 'magazine', description: 'Our first issue', supported_languages: ['en', 'de'] },
    status: 201,
    answer: {
      tenant_id: 'default',
      repo_id: 'magazine',
      created_at: '2027-03-14T15:09:26.000Z',
      branches: ['main'],
      config: record,
    },
  },
  {
    operation: 'listRepositories',
    summary: 'All repositories of the tenant.',
    status: 200,
    answer: [
      {
        tenant_id: 'default',
        repo_id: 'magazine',
        created_at: '2027-03-14T15:09:26.000Z',
        branches: ['main'],
        config: record,
      },
    ],
  },
  {
    operation: 'readRepository',
    summary: 'One repository.',
    status: 200,
    answer: {
      tenant_id: 'default',
      repo_id: 'magazine',
      created_at: '2027-03-14T15:09:26.000Z',
      branches: ['main'],
      config: record,
    },
  },
  {
    operation: 'updateRepository',
    summary: 'Another description.',
    body: { description: 'The spring issue' },
    status: 204,
  },
  {
    operation: 'readTranslationConfig',
    summary: 'Its languages.',
    status: 200,
    answer: { default_language: 'en', supported_languages: ['en', 'de'], locale_fallback_chains: {} },
  },
  {
    operation: 'updateTranslationConfig',
    summary: 'A third language, and what stands in for it.',
    body: { supported_languages: ['en', 'de', 'de-AT'], locale_fallback_chains: { 'de-AT': ['de'] } },
    status: 204,
  },
  {
    operation: 'listSystemUpdates',
    summary: 'Nothing is pending.',
    status: 200,
    answer: { has_updates: false, total_pending: 0, breaking_count: 0, updates: [] },
  },
  {
    operation: 'applySystemUpdates',
    summary: 'Applies everything that is pending.',
    body: {},
    status: 200,
    answer: { job_id: null, message: 'Nothing was pending', applied_count: 0, skipped_count: 0 },
  },
  {
    operation: 'putWorkspace',
    summary: 'A workspace for articles and folders.',
    parameters: { name: 'content' },
    body: {
      description: 'What is printed',
      allowed_node_types: ['mag:Article', 'svc:Folder'],
      allowed_root_node_types: ['mag:Article', 'svc:Folder'],
    },
    status: 204,
  },
  {
    operation: 'readWorkspace',
    summary: 'One workspace.',
    parameters: { name: 'content' },
    status: 200,
    answer: {
      name: 'content',
      description: 'What is printed',
      allowed_node_types: ['mag:Article', 'svc:Folder'],
      allowed_root_node_types: ['mag:Article', 'svc:Folder'],
      depends_on: [],
      initial_structure: null,
      created_at: '2027-03-14T15:09:26.000Z',
      updated_at: '2027-03-14T15:09:26.000Z',
      config: { default_branch: 'main', node_type_pins: {} },
    },
  },
  {
    operation: 'listWorkspaces',
    summary: 'The first page.',
    parameters: { limit: 1 },
    status: 200,
    answer: {
      items: [
        {
          name: 'ai',
          description: 'Agents and their conversations.',
          allowed_node_types: ['svc:Actor', 'svc:AIActor'],
          allowed_root_node_types: ['svc:Folder'],
          depends_on: [],
          initial_structure: null,
          created_at: '2027-03-14T15:09:26.000Z',
          updated_at: '2027-03-14T15:09:26.000Z',
          config: { default_branch: 'main', node_type_pins: {} },
        },
      ],
      page: { total: 8, limit: 1, offset: 0, nextOffset: 1 },
    },
    isExcerpt: true,
  },
  {
    operation: 'putWorkspaceConfig',
    summary: 'Without pins: the newest types.',
    parameters: { name: 'content' },
    body: { default_branch: 'main', node_type_pins: {} },
    status: 204,
  },
  {
    operation: 'readWorkspaceConfig',
    summary: 'The configuration of a workspace.',
    parameters: { name: 'content' },
    status: 200,
    answer: { default_branch: 'main', node_type_pins: {} },
  },
];
