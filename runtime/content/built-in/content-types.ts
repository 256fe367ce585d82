import {
  type BuiltInNodeType,
  fulltext,
  indexed,
  property,
  required,
  several,
  shipped,
  svc,
  typed,
  vpa,
} from './define-type.ts';

const stringList = { items: { type: 'String' } };

/** Types of ordinary content. @see docs/interface/built-ins.md#node-types-of-content */
export const contentTypes: readonly BuiltInNodeType[] = [
  shipped('Folder', 1, {
    description: 'Holds other nodes.',
    icon: 'folder',
    properties: [property('description', fulltext)],
    ...vpa,
  }),
  shipped('Page', 1, {
    description: 'A page of text.',
    icon: 'file-text',
    properties: [
      property('title', { ...required, index: ['Fulltext', 'Vector'] }),
      property('content', { index: ['Fulltext', 'Vector'] }),
    ],
    ...vpa,
  }),
  shipped('Node', 1, {
    description: 'The plainest node.',
    properties: [property('title', fulltext)],
    allowed_children: svc('Node'),
    ...vpa,
  }),
  shipped('Asset', 1, {
    description: 'A file.',
    icon: 'file',
    strict: false,
    properties: [
      property('title', { ...required, ...fulltext }),
      typed('Resource', 'file', required),
      property('file_type', indexed),
      typed('Number', 'file_size', indexed),
      property('description', fulltext),
      property('alt_text'),
      typed('Array', 'keywords', fulltext),
      typed('Object', 'meta'),
      property('content_hash', indexed),
    ],
    publishable: true,
  }),
  shipped('StaticSiteFolder', 1, {
    description: 'A folder whose subtree is served as a static site.',
    icon: 'globe',
    extends: 'svc:Folder',
    properties: [
      typed('Object', 'serving_config', {
        structure: {
          frame_ancestors: { type: 'Array', ...stringList },
          cors_allowed_origins: { type: 'Array', ...stringList },
          cache_control: { type: 'String' },
          index_document: { type: 'String' },
        },
      }),
    ],
    ...vpa,
  }),
  shipped('Package', 1, {
    description: 'An installable set of types, workspaces and content.',
    icon: 'package',
    strict: true,
    properties: [
      property('name', { ...required, ...indexed }),
      property('version', required),
      property('title', fulltext),
      property('description', fulltext),
      property('author', indexed),
      property('license'),
      property('icon', { default: 'package' }),
      property('color', { default: '#6366F1' }),
      typed('Array', 'keywords', indexed),
      property('category', indexed),
      typed('Array', 'dependencies'),
      ...several('Object', 'provides', 'workspace_patches'),
      typed('Boolean', 'installed', { default: false, ...indexed }),
      typed('Date', 'installed_at'),
      property('upload_state', { default: 'new', ...indexed }),
      property('teaser_background_url'),
      property('status', {
        default: 'ready',
        ...indexed,
        constraints: { enum: ['processing', 'ready', 'error'] },
      }),
      typed('Number', 'progress', { default: 0 }),
      typed('Boolean', 'large_upload', { default: false }),
      typed('Resource', 'resource', required),
      typed('Boolean', 'builtin', { default: false, ...indexed }),
    ],
    allowed_children: svc('Asset', 'Folder'),
    ...vpa,
  }),
];
