import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requiredProgram } from '#test/support/required-program.ts';
import { type ServerProcess, startServerProcess } from '#test/support/server-process.ts';

/** The password the README tells the newcomer to start with. */
const PASSWORD = 'Tour-guide-2026';

/** Every shell block of the tour, but those marked to be skipped (they start the server). */
function tourBlocks(): readonly string[] {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const tour = readme.slice(readme.indexOf('## A five-minute tour'), readme.indexOf('## More'));
  const blocks = tour.matchAll(/(<!-- tour:skip -->\n)?```bash\n([\s\S]*?)```/g);
  return [...blocks].filter(([, skip]) => skip === undefined).map(([, , text]) => text as string);
}

describe('the tour in the README', () => {
  let server: ServerProcess;
  let output: readonly string[];

  beforeAll(async () => {
    requiredProgram('curl');
    server = await startServerProcess({ env: { SVC_ADMIN_PASSWORD: PASSWORD } });
    const script = tourBlocks()
      .map((block) => block.replaceAll('http://127.0.0.1:8080', `http://127.0.0.1:${server.port}`))
      .join('\necho "<<next>>"\n');
    const run = spawnSync('bash', ['-eu', '-o', 'pipefail', '-c', script], { encoding: 'utf8' });
    expect(run.stderr).toBe('');
    expect(run.status).toBe(0);
    output = run.stdout.split('<<next>>\n').map((part) => part.trim());
  });

  afterAll(() => server.close());

  it('logs in and makes a repository [DEMO-002]', () => {
    expect(JSON.parse(output[1] as string)).toMatchObject({ repo_id: 'magazine', branches: ['main'] });
  });

  it('answers every line with JSON, and only the bad write with an error [DEMO-002]', () => {
    const answers = output
      .join('\n')
      .split('\n')
      .filter((line) => line !== '');
    const errors = answers.filter((line) => /^\{"code":/.test(line));
    for (const line of answers) expect(() => JSON.parse(line), line).not.toThrow();
    expect(errors).toHaveLength(1);
    expect(JSON.parse(errors[0] as string)).toMatchObject({ code: 'VALIDATION_FAILED' });
  });

  it('reads the first state of the article at its first revision [DEMO-002]', () => {
    const last = (output.at(-1) as string).split('\n').at(-1) as string;
    expect(JSON.parse(last).properties).toMatchObject({ title: 'Gardens in March', words: 1200 });
  });
});
