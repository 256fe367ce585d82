import { describe, expect, it } from 'vitest';
import { wholeDescription } from '#test/support/api-description.ts';
import { lintDescription } from '#test/support/redocly.ts';

interface Changeable {
  servers: unknown[];
  readonly paths: Record<string, Record<string, ChangeableOperation>>;
}

interface ChangeableOperation {
  readonly requestBody: {
    readonly content: Record<string, { readonly examples: Record<string, { value: unknown }> }>;
  };
}

describe('the linter of descriptions', () => {
  it('finds nothing in that of the interface [HTTP-072]', async () => {
    expect(await lintDescription(await wholeDescription())).toEqual([]);
  });

  it('finds what is wrong in another', async () => {
    const document = structuredClone(await wholeDescription()) as unknown as Changeable;
    document.servers = [];
    const list = document.paths['/api/{repo}/{branch}/{list}'];
    document.paths['/api/{repo}/{branch}/locks'] = structuredClone(list) as Record<
      string,
      ChangeableOperation
    >;
    const reorder = '/api/repository/{repo}/{branch}/head/{workspace}/{path}/svc:reorder';
    const content = document.paths[reorder]?.post?.requestBody.content['application/json'];
    (content?.examples.example as { value: unknown }).value = { target: '/a', movePosition: 'above' };
    const problems = await lintDescription(document);
    for (const rule of [
      'no-empty-servers',
      'no-ambiguous-paths',
      'operation-operationId-unique',
      'no-invalid-media-type-examples',
    ])
      expect(problems.join('\n')).toContain(rule);
  });
});
