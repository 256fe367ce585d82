import { expect, it } from 'vitest';
import { workspaceAlias } from '#actors/repository/workspace-alias.ts';

it('makes a name of words, each with a capital', () => {
  const aliases = {
    'svc:access_control': 'SvcAccessControl',
    'site-media': 'SiteMedia',
    blog: 'Blog',
    'a--b_': 'AB',
    '2024-news': '2024News',
    camelCase: 'CamelCase',
  };
  for (const [name, alias] of Object.entries(aliases))
    expect([name, workspaceAlias(name)]).toEqual([name, alias]);
});
