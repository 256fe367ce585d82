import type { BranchEntry, TagEntry } from '#actors/repository/messages.ts';
import { type ListEntryError, listEntryErrorSchema } from '../list-entry-error.ts';

/** A branch on the wire. @see docs/interface/branches.md#the-branch-object */
export interface BranchInfo {
  readonly name: string;
  readonly head: string;
  readonly created_at: string;
  readonly created_by: string;
  readonly created_from: string | null;
  readonly upstream_branch: string | null;
  readonly protected: boolean;
  readonly description: string | null;
}

/** A branch in a list whose own data is damaged: the fields that its repository has. */
export interface DamagedBranchInfo extends Omit<BranchInfo, 'head'> {
  readonly head: null;
  readonly error: ListEntryError;
}

/** The list entry of a damaged branch. */
export function damagedBranchInfo(entry: BranchEntry, error: ListEntryError): DamagedBranchInfo {
  return { ...branchInfo(entry, ''), head: null, error };
}

/** The body of the branch routes. @param head the branch's head revision */
export function branchInfo(entry: BranchEntry, head: string): BranchInfo {
  return {
    name: entry.name,
    head,
    created_at: entry.createdAt,
    created_by: entry.createdBy,
    created_from: entry.createdFrom,
    upstream_branch: entry.upstreamBranch,
    protected: entry.protected,
    description: entry.description,
  };
}

/** A tag on the wire. @see docs/interface/branches.md#tags */
export interface TagInfo {
  readonly name: string;
  readonly revision: string;
  readonly created_at: string;
  readonly created_by: string;
  readonly message: string | null;
  readonly protected: boolean;
}

/** The body of the tag routes. */
export function tagInfo(entry: TagEntry): TagInfo {
  return {
    name: entry.name,
    revision: entry.revision,
    created_at: entry.createdAt,
    created_by: entry.createdBy,
    message: entry.message,
    protected: entry.protected,
  };
}

/** JSON Schema of the name of a branch or tag. */
export const nameSchema = Object.freeze({ type: 'string', pattern: '^[A-Za-z0-9._/-]{1,128}$' });

/** JSON Schema of a revision. */
export const revisionSchema = Object.freeze({
  type: 'string',
  pattern: '^\\d+-\\d+$',
  description: '`<milliseconds>-<counter>`',
});

/** JSON Schema of {@link BranchInfo}. */
export const branchInfoSchema = Object.freeze({
  type: 'object',
  required: [
    'name',
    'head',
    'created_at',
    'created_by',
    'created_from',
    'upstream_branch',
    'protected',
    'description',
  ],
  properties: {
    name: nameSchema,
    head: revisionSchema,
    created_at: { type: 'string', format: 'date-time' },
    created_by: { type: 'string' },
    created_from: { ...revisionSchema, type: ['string', 'null'] },
    upstream_branch: { type: ['string', 'null'] },
    protected: { type: 'boolean' },
    description: { type: ['string', 'null'] },
  },
});

/** JSON Schema of an entry of a list: {@link BranchInfo} or {@link DamagedBranchInfo}. */
export const listedBranchSchema = Object.freeze({
  ...branchInfoSchema,
  properties: {
    ...branchInfoSchema.properties,
    head: { ...revisionSchema, type: ['string', 'null'] },
    error: listEntryErrorSchema,
  },
});

/** JSON Schema of {@link TagInfo}. */
export const tagInfoSchema = Object.freeze({
  type: 'object',
  required: ['name', 'revision', 'created_at', 'created_by', 'message', 'protected'],
  properties: {
    name: nameSchema,
    revision: revisionSchema,
    created_at: { type: 'string', format: 'date-time' },
    created_by: { type: 'string' },
    message: { type: ['string', 'null'] },
    protected: { type: 'boolean' },
  },
});
