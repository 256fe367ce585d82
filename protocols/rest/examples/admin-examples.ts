import type { Exchange } from '#protocols/http/openapi/openapi-examples.ts';

const flags = {
  console_login: true,
  cli_access: false,
  api_access: true,
  pgwire_access: false,
  can_impersonate: false,
};

const bo = {
  user_id: '01a44700-0000-7000-8000-0000000000f2',
  username: 'bo',
  email: 'bo@example.org',
  tenant_id: 'default',
  access_flags: flags,
  must_change_password: false,
  is_active: true,
  created_at: '2027-03-14T15:09:26.000Z',
  last_login: null,
};

const key = {
  key_id: '01a44700-0000-7000-8000-0000000000f3',
  name: 'nightly import',
  key_prefix: 'svc_TMSfb8q2Vd7L',
  created_at: '2027-03-14T15:09:26.000Z',
  last_used_at: null,
  is_active: true,
};

/** Administrators of a tenant, the keys of an account, and who did what. */
export const adminExamples: readonly Exchange[] = [
  {
    operation: 'createAdminUser',
    summary: 'An administrator without access by the command line.',
    body: {
      username: 'bo',
      email: 'bo@example.org',
      password: 'Second-person-2026',
      access_flags: { cli_access: false },
    },
    status: 201,
    answer: bo,
  },
  {
    operation: 'readAdminUser',
    summary: 'One of them.',
    parameters: { username: 'bo' },
    status: 200,
    answer: bo,
  },
  {
    operation: 'updateAdminUser',
    summary: 'May act as a user from now on.',
    parameters: { username: 'bo' },
    body: { access_flags: { can_impersonate: true } },
    status: 200,
    answer: { ...bo, access_flags: { ...flags, can_impersonate: true } },
  },
  {
    operation: 'listAdminUsers',
    summary: 'Both of them.',
    status: 200,
    answer: [
      {
        user_id: '01a44700-0000-7000-8000-000000000001',
        username: 'admin',
        email: null,
        tenant_id: 'default',
        access_flags: { ...flags, cli_access: true },
        must_change_password: false,
        is_active: true,
        created_at: '2027-03-14T15:09:26.000Z',
        last_login: '2027-03-14T15:09:26.000Z',
      },
      { ...bo, access_flags: { ...flags, can_impersonate: true } },
    ],
  },
  {
    operation: 'createApiKey',
    summary: 'The token is shown this once.',
    body: { name: 'nightly import' },
    status: 201,
    answer: { key, token: 'svc_TMSfb8q2Vd7LwYc0eHnR4uKx9ZtGa1Ps' },
  },
  { operation: 'listApiKeys', summary: 'Without the token.', status: 200, answer: [key] },
  {
    operation: 'revokeApiKey',
    summary: 'It is refused from now on.',
    parameters: { key_id: '01a44700-0000-7000-8000-0000000000f3' },
    status: 204,
  },
  {
    operation: 'listOwnRepositories',
    summary: 'None so far.',
    status: 200,
    answer: [],
  },
  {
    operation: 'deleteAdminUser',
    summary: 'One of them.',
    parameters: { username: 'bo' },
    status: 204,
  },
  {
    operation: 'listAdminActions',
    summary: 'The newest two entries.',
    parameters: { limit: 2 },
    status: 200,
    answer: {
      items: [
        {
          sequence: 7,
          at: '2027-03-14T15:09:26.000Z',
          actor: { user_id: '01a44700-0000-7000-8000-000000000001', username: 'admin' },
          action: 'account_deleted',
          subject: 'bo',
          details: { user_id: '01a44700-0000-7000-8000-0000000000f2' },
        },
        {
          sequence: 6,
          at: '2027-03-14T15:09:26.000Z',
          actor: { user_id: '01a44700-0000-7000-8000-000000000001', username: 'admin' },
          action: 'api_key_revoked',
          subject: 'admin',
          details: {
            key_id: '01a44700-0000-7000-8000-0000000000f3',
            key_prefix: 'svc_TMSfb8q2Vd7L',
            name: 'nightly import',
          },
        },
      ],
      next_cursor: '6',
    },
  },
];
