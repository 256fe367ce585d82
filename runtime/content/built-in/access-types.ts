import {
  type BuiltInNodeType,
  fulltext,
  indexed,
  oneOf,
  property,
  required,
  several,
  shipped,
  svc,
  typed,
  unique,
  va,
  vpa,
} from './define-type.ts';

/** Types allowed in an AclFolder: everything that is managed below the root of `svc:access_control`. */
const aclChildren = svc(
  'User',
  'Agent',
  'Role',
  'Group',
  'AclFolder',
  'SecurityConfig',
  'RelationType',
  'EntityCircle',
  'StewardshipConfig',
  'StewardshipOverride',
  'GraphAlgorithmConfig',
);

/**
 * Types of users, roles and related nodes.
 *
 * @see docs/interface/built-ins.md#node-types-of-access-control
 */
export const accessTypes: readonly BuiltInNodeType[] = [
  shipped('User', 1, {
    description: 'A person or agent with access to the repository.',
    icon: 'user',
    properties: [
      property('user_id', indexed),
      property('email', { ...required, ...unique, index: ['Property', 'Fulltext'] }),
      property('display_name', { ...required, ...fulltext }),
      property('status', { default: 'active' }),
      ...several('Array', 'groups', 'roles'),
      typed('Object', 'metadata'),
      typed('Date', 'birth_date'),
      typed('Boolean', 'can_login', { default: true }),
    ],
    allowed_children: svc('Profile', 'MessageFolder', 'Folder'),
    initial_structure: {
      children: [
        { name: 'profile', node_type: 'svc:Profile' },
        { name: 'inbox', node_type: 'svc:MessageFolder' },
        { name: 'outbox', node_type: 'svc:MessageFolder' },
        { name: 'sent', node_type: 'svc:MessageFolder' },
        { name: 'notifications', node_type: 'svc:Folder' },
      ],
    },
    ...va,
  }),
  shipped('Profile', 1, {
    description: 'What a user shows of themselves.',
    properties: [typed('Object', 'data')],
    allowed_children: svc('ProfileData'),
    initial_structure: {
      children: [
        { name: 'private', node_type: 'svc:ProfileData' },
        { name: 'public', node_type: 'svc:ProfileData' },
      ],
    },
    ...va,
  }),
  shipped('ProfileData', 1, {
    description: 'One part of a profile.',
    properties: [typed('Object', 'data')],
    ...va,
  }),
  shipped('Role', 1, {
    description: 'A named set of permissions.',
    icon: 'shield',
    properties: [
      property('role_id', { ...required, ...unique }),
      property('name', { ...required, ...unique }),
      property('description'),
      typed('Array', 'inherits', { items: { type: 'String' } }),
      typed('Array', 'permissions', { items: { type: 'Object' } }),
    ],
    ...vpa,
  }),
  shipped('Group', 1, {
    description: 'Users who share roles.',
    icon: 'users',
    properties: [
      property('group_id', { ...required, ...unique }),
      property('name', { ...required, ...unique }),
      property('description'),
      typed('Array', 'roles', { items: { type: 'String' } }),
    ],
    ...va,
  }),
  shipped('AclFolder', 1, {
    description: 'Holds users, roles, groups and their settings.',
    extends: 'svc:Folder',
    properties: [property('icon', { default: 'folder' }), property('color', { default: '#3b82f6' })],
    allowed_children: aclChildren,
    ...vpa,
  }),
  shipped('SecurityConfig', 1, {
    description: 'Default policy and anonymous access of workspaces.',
    properties: [
      property('workspace', { ...required, ...unique }),
      property('default_policy', { ...required, default: 'deny', ...oneOf('deny', 'allow') }),
      typed('Boolean', 'anonymous_enabled', { default: false }),
      property('anonymous_role'),
      typed('Object', 'interfaces'),
    ],
    ...vpa,
  }),
  shipped('RepoAuthConfig', 1, {
    description: 'How people get into one repository.',
    strict: false,
    properties: [
      property('repo_id', indexed),
      typed('Boolean', 'allow_registration', { default: true }),
      typed('Array', 'default_roles', { default: ['viewer'] }),
      typed('Boolean', 'require_email_verification', { default: false }),
      typed('Boolean', 'auto_approve_access', { default: true }),
      property('welcome_message'),
      typed('Boolean', 'anonymous_enabled'),
      typed('Array', 'cors_allowed_origins', { default: [] }),
    ],
    ...va,
  }),
  shipped('RelationType', 1, {
    description: 'A kind of relation between people.',
    properties: [
      property('relation_name', { ...required, ...unique }),
      property('title', fulltext),
      property('description'),
      property('category', indexed),
      property('inverse_relation_name'),
      typed('Boolean', 'bidirectional', { default: false }),
      typed('Boolean', 'implies_stewardship', { default: false }),
      property('icon'),
      property('color'),
    ],
    ...vpa,
  }),
  shipped('EntityCircle', 1, {
    description: 'People who belong together, a family or a household.',
    properties: [
      property('name', { ...required, ...fulltext }),
      property('circle_type', indexed),
      property('primary_contact_id'),
      typed('Array', 'members'),
      ...several('Object', 'address', 'metadata'),
    ],
    ...va,
  }),
  shipped('GraphAlgorithmConfig', 1, {
    description: 'A graph algorithm whose results are computed ahead.',
    properties: [
      property('algorithm', { ...required, ...indexed }),
      typed('Boolean', 'enabled', { default: true, ...indexed }),
      ...several('Object', 'target', 'scope', 'config', 'refresh'),
    ],
    ...va,
  }),
  shipped('StewardshipConfig', 1, {
    description: 'Who may act for whom.',
    properties: [
      typed('Boolean', 'enabled', { default: false }),
      ...several('Array', 'stewardship_relation_types', 'allowed_scopes'),
      typed('Number', 'max_stewards_per_ward'),
      typed('Number', 'max_wards_per_steward'),
      typed('Number', 'minor_age_threshold'),
      typed('Boolean', 'require_ward_consent', { default: true }),
      typed('Object', 'metadata'),
    ],
    ...va,
  }),
  shipped('StewardshipOverride', 1, {
    description: 'One person acting for another, whatever the configuration says.',
    properties: [
      property('steward_id', { ...required, ...indexed }),
      property('ward_id', { ...required, ...indexed }),
      property('delegation_mode', { default: 'full' }),
      typed('Array', 'scoped_permissions'),
      typed('Date', 'valid_from'),
      typed('Date', 'valid_until'),
      property('status', { default: 'active', ...indexed }),
      property('reason'),
    ],
    ...va,
  }),
];
