import type { Exchange } from '#protocols/http/openapi/openapi-examples.ts';

const at = '2027-03-14T15:09:26.000Z';

const cleo = {
  id: '01a44700-0000-7000-8000-0000000001f1',
  email: 'cleo@example.org',
  display_name: 'Cleo',
  avatar_url: null,
  email_verified: false,
  is_active: true,
  is_tenant_admin: false,
  has_password: true,
  must_change_password: true,
  linked_providers: [],
  created_at: at,
  updated_at: at,
  last_login_at: null,
} as const;

const verified = { ...cleo, email_verified: true } as const;

/** Registered in the examples of identities. */
const bo = {
  identity_id: '01a44700-0000-7000-8000-0000000000e2',
  email: 'bo@example.org',
  display_name: 'Bo',
  avatar_url: null,
} as const;

const request = '01a44700-0000-7000-8000-0000000001f2';
const invitation = '01a44700-0000-7000-8000-0000000001f3';

const ofCleo = { id: cleo.id } as const;

/** Accounts of people, and their access to a repository. */
export const peopleExamples: readonly Exchange[] = [
  {
    operation: 'createIdentityUser',
    summary: 'With a node in a repository, and a password that has to be changed.',
    body: {
      email: cleo.email,
      password: 'Walks-in-may',
      display_name: 'Cleo',
      must_change_password: true,
      repos: ['magazine'],
      default_roles: ['viewer'],
    },
    status: 201,
    answer: cleo,
  },
  {
    operation: 'listIdentityUsers',
    summary: 'The one with an address.',
    parameters: { email: cleo.email },
    status: 200,
    answer: [cleo],
  },
  {
    operation: 'updateIdentityUser',
    summary: 'Her address was seen to be hers.',
    parameters: ofCleo,
    body: { email_verified: true },
    status: 200,
    answer: verified,
  },
  {
    operation: 'readIdentityUser',
    summary: 'Every node says what the account says.',
    parameters: ofCleo,
    status: 200,
    answer: { ...verified, status_change: null },
  },
  {
    operation: 'linkIdentityUser',
    summary: 'Her own node: nothing changes.',
    parameters: ofCleo,
    body: { repo_id: 'magazine', user_node_path: '/users/internal/cleo-at-example-org' },
    status: 200,
    answer: {
      identity_id: cleo.id,
      email: cleo.email,
      repo_id: 'magazine',
      user_node_path: '/users/internal/cleo-at-example-org',
      linked: true,
    },
  },
  {
    operation: 'listIdentityUserSessions',
    summary: 'She has not logged in yet.',
    parameters: ofCleo,
    status: 200,
    answer: { sessions: [] },
  },
  {
    operation: 'endIdentityUserSessions',
    summary: 'Everywhere.',
    parameters: ofCleo,
    status: 204,
  },
  {
    operation: 'requestAccess',
    summary: 'By a person who wants to write.',
    body: { message: 'I would like to write', requested_roles: ['author'] },
    status: 200,
    answer: { message: 'Access requested', id: request },
  },
  {
    operation: 'listAccessRequests',
    summary: 'What has to be decided.',
    parameters: { status: 'pending' },
    status: 200,
    answer: {
      requests: [
        {
          id: request,
          ...bo,
          message: 'I would like to write',
          requested_roles: ['author'],
          status: 'pending',
          reason: null,
          decided_by: null,
          created_at: at,
          updated_at: at,
        },
      ],
      total: 1,
    },
  },
  {
    operation: 'approveAccess',
    summary: 'With the role that was asked for.',
    parameters: { id: request },
    body: { roles: ['author'] },
    status: 200,
    answer: { message: 'Access granted', id: request },
  },
  {
    operation: 'inviteToRepository',
    summary: 'An address, for two days.',
    body: { email: 'dora@example.org', roles: ['viewer'], expires_in_days: 2 },
    status: 200,
    answer: { message: 'Invitation stored', id: invitation },
  },
  {
    operation: 'denyAccess',
    summary: 'Withdraws the invitation.',
    parameters: { id: invitation },
    body: { reason: 'The address was wrong' },
    status: 200,
    answer: { message: 'Access denied', id: invitation },
  },
  {
    operation: 'grantAccess',
    summary: 'One more role.',
    body: { identity_id: cleo.id, roles: ['author'] },
    status: 200,
    answer: { message: 'Access granted', id: cleo.id },
  },
  {
    operation: 'listMembers',
    summary: 'Everybody with a node.',
    status: 200,
    answer: {
      members: [
        {
          ...bo,
          roles: ['viewer', 'authenticated_user', 'author'],
          status: 'active',
          granted_at: at,
          granted_by: 'system',
        },
        {
          identity_id: cleo.id,
          email: cleo.email,
          display_name: 'Cleo',
          avatar_url: null,
          roles: ['viewer', 'authenticated_user', 'author'],
          status: 'active',
          granted_at: at,
          granted_by: 'system',
        },
      ],
      total: 2,
    },
  },
  {
    operation: 'revokeAccess',
    summary: 'Her node stays, and is inactive.',
    parameters: { identity_id: cleo.id },
    body: { reason: 'She has moved' },
    status: 200,
    answer: { message: 'Access revoked', id: cleo.id },
  },
  {
    operation: 'deleteIdentityUser',
    summary: 'Nobody can log in with it any more.',
    parameters: ofCleo,
    status: 204,
  },
];
