import { describe, expect, it } from 'vitest';
import {
  requireBranchName,
  requireNewBranchName,
  requireRepositoryName,
  requireTagName,
  requireTenantName,
  requireWorkspaceName,
  reservedRepositoryNames,
} from '#runtime/content/names.ts';

const refused = (code: string) => expect.objectContaining({ code });

describe('names', () => {
  it('takes repository names of lower-case letters, digits, _ and -', () => {
    for (const name of ['a', 'blog', '0day', 'my_repo-2', 'x'.repeat(63)]) {
      expect(requireRepositoryName(name)).toBe(name);
    }
    for (const name of ['', 'Blog', '-a', '_a', 'a.b', 'a/b', 'a b', 'é', 'x'.repeat(64), 'blog\n']) {
      expect(() => requireRepositoryName(name)).toThrowError(refused('VALIDATION_FAILED'));
      expect(() => requireTenantName(name)).toThrowError(refused('VALIDATION_FAILED'));
    }
  });

  it('refuses repository names that are routes of the interface', () => {
    for (const name of [
      'sql',
      'svc',
      'repository',
      'management',
      'functions',
      'oidc',
      'workspaces',
      'triggers',
    ]) {
      expect(reservedRepositoryNames.has(name)).toBe(true);
      expect(() => requireRepositoryName(name)).toThrowError(/reserved/);
    }
    expect(requireTenantName('sql')).toBe('sql');
  });

  it('takes capitals and colons in workspace names, but no table of the schema registry', () => {
    for (const name of ['default', 'svc:access_control', 'Blog', 'a-b']) {
      expect(requireWorkspaceName(name)).toBe(name);
    }
    for (const name of ['', ':a', 'a/b', 'a b', 'NodeTypes', 'Workspaces', 'x'.repeat(64)]) {
      expect(() => requireWorkspaceName(name)).toThrowError(refused('VALIDATION_FAILED'));
    }
  });

  it('takes slashes and dots in branch and tag names', () => {
    for (const name of ['main', 'feature/x-1', 'v1.0', '_', 'x'.repeat(128)]) {
      expect(requireBranchName(name)).toBe(name);
      expect(requireTagName(name)).toBe(name);
    }
    for (const name of ['', '.', '..', 'a b', 'a@b', 'ä', 'x'.repeat(129), 'main\n']) {
      expect(() => requireBranchName(name)).toThrowError(refused('INVALID_BRANCH_NAME'));
      expect(() => requireTagName(name)).toThrowError(refused('INVALID_BRANCH_NAME'));
      expect(() => requireNewBranchName(name)).toThrowError(refused('INVALID_BRANCH_NAME'));
      expect(() => requireNewBranchName(name, 'tag')).toThrowError(refused('INVALID_BRANCH_NAME'));
    }
  });

  it('takes no new branch or tag that means a revision or no key, and reads old ones', () => {
    for (const name of ['HEAD', 'head', '__proto__']) {
      expect(requireBranchName(name)).toBe(name);
      expect(() => requireNewBranchName(name)).toThrowError(refused('INVALID_BRANCH_NAME'));
      expect(() => requireNewBranchName(name, 'tag')).toThrowError(refused('INVALID_BRANCH_NAME'));
    }
    expect(requireNewBranchName('heads')).toBe('heads');
  });
});
