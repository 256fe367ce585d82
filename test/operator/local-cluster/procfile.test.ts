import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { processTypes } from '#operator/local-cluster/plan.ts';
import { parseProcfile } from '#operator/local-cluster/procfile.ts';
import { projectRoot } from '#test/tidy/source-file.ts';

const read = (name: string): string => readFileSync(join(projectRoot, name), 'utf8');

describe('a Procfile', () => {
  it('has a type and a command a line; what is anything else is passed over', () => {
    const text = '# a comment\n\nweb: run --port 80: yes \nworker:\ttwo words\r\nno type here\n: nothing\n';
    expect([...parseProcfile(text)]).toEqual([
      ['web', 'run --port 80: yes'],
      ['worker', 'two words'],
    ]);
  });

  it('has a type once', () => {
    expect(() => parseProcfile('a: b\na: c\n')).toThrow('twice');
  });
});

describe("the project's Procfile", () => {
  const commands = parseProcfile(read('Procfile'));

  it('has the types of processes a cluster is made of', () => {
    expect([...commands.keys()].sort()).toEqual([...processTypes].sort());
  });

  it('starts a member as npm start does', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: { start: string } };
    expect((commands.get('member') as string).replace('node_modules/.bin/node', 'node')).toBe(scripts.start);
  });

  it('replaces the shell by the program, so that signals reach it', () => {
    for (const command of commands.values()) expect(command).toMatch(/(^| )exec /);
  });
});
