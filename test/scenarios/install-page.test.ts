import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadOptions } from '#runtime/config/load-options.ts';
import { commandOf, containerEnvironment, instructionsNamed } from '#test/support/container-file.ts';
import { documentBlocks } from '#test/support/document-blocks.ts';
import { unitEnvironment, unitLines } from '#test/support/unit-file.ts';
import { productFolders, projectRoot } from '#test/tidy/source-file.ts';

const read = (path: string): string => readFileSync(join(projectRoot, path), 'utf8');
const units = readdirSync(join(projectRoot, 'operator/systemd'));
const service = unitLines(read('operator/systemd/grove.service'));
const blocks = documentBlocks('docs/install.md');

const settingOf = (key: string): string | undefined => service.find((line) => line.key === key)?.value;

/** Variables of the environment that the commands of `npm start` set, besides the program. */
function startVariables(): Record<string, string> {
  const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Record<string, string> };
  const pairs = (scripts.start as string).matchAll(/([A-Z_]+)=(\d+)/g);
  return Object.fromEntries([...pairs].map(([, name, value]) => [name as string, value as string]));
}

describe('the page on installation', () => {
  it.each(['operator/systemd/grove.service', 'Dockerfile'])('shows %s as it is', (path) => {
    expect(blocks.map(({ text }) => text)).toContain(read(path));
  });

  it('has commands that a shell understands, and that name files and scripts that are there', () => {
    const commands = blocks.filter(({ language }) => language === 'bash').map(({ text }) => text);
    expect(commands.length).toBeGreaterThan(5);
    for (const command of commands)
      expect([command, spawnSync('bash', ['-n', '-c', command]).status]).toEqual([command, 0]);
    for (const [path] of commands.join('\n').matchAll(/operator\/systemd\/\S+/g))
      expect([path, existsSync(join(projectRoot, path))]).toEqual([path, true]);
  });

  it('names only settings there are', () => {
    const configuration = read('docs/configuration.md');
    const variables = read('docs/install.md').matchAll(/\b(SVC_[A-Z_]+|JWT_SECRET)\b/g);
    for (const [name] of variables)
      expect([name, configuration.includes(`\`${name}\``)]).toEqual([name, true]);
  });
});

describe('the units of systemd', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'grove-units-'));
    for (const unit of units)
      writeFileSync(
        join(folder, unit),
        read(`operator/systemd/${unit}`).replaceAll('/opt/grove', projectRoot),
      );
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  it('are lines of sections and settings', () => {
    expect(units).toEqual(['grove-backup.service', 'grove-backup.timer', 'grove.service']);
    for (const unit of units)
      for (const { section } of unitLines(read(`operator/systemd/${unit}`)))
        expect(section).toBeOneOf(['Unit', 'Service', 'Timer', 'Install']);
  });

  it('are accepted by systemd, if it is installed', () => {
    const paths = units.map((unit) => join(folder, unit));
    const { error, status, stderr } = spawnSync('systemd-analyze', ['verify', ...paths], {
      encoding: 'utf8',
    });
    if (error === undefined) expect([status, stderr]).toEqual([0, '']);
    else expect((error as NodeJS.ErrnoException).code).toBe('ENOENT');
  });

  it('start what npm start starts, with the data where systemd makes it', () => {
    expect(settingOf('ExecStart')).toBe('/opt/grove/node_modules/.bin/node server/main.ts');
    expect(unitEnvironment(service)).toEqual({ ...startVariables(), SVC_DATA_DIR: '%S/grove' });
    expect([
      settingOf('WorkingDirectory'),
      settingOf('StateDirectory'),
      settingOf('StateDirectoryMode'),
    ]).toEqual(['/opt/grove', 'grove', '0700']);
  });

  it('leave the server more time to end than it takes', () => {
    const { limits, server } = loadOptions({}, () => undefined);
    expect(Number(settingOf('TimeoutStopSec')) * 1_000).toBeGreaterThan(server.shutdownGraceMs + 5_000);
    expect(Number(settingOf('LimitNOFILE'))).toBeGreaterThanOrEqual(
      limits.connectionsMax + 3 * limits.openActorsMax,
    );
  });

  it('give the server no rights beyond its data', () => {
    const hardening = Object.fromEntries(service.map(({ key, value }) => [key, value]));
    expect(hardening).toMatchObject({
      User: 'grove',
      NoNewPrivileges: 'yes',
      ProtectSystem: 'strict',
      ProtectHome: 'yes',
      PrivateTmp: 'yes',
      PrivateDevices: 'yes',
      CapabilityBoundingSet: '',
      SystemCallFilter: '@system-service',
      UMask: '0077',
    });
  });
});

describe('the container file', () => {
  it('copies what the product is made of, and nothing else gets into the build', () => {
    const copied = instructionsNamed('COPY').flatMap((text) => text.split(' ').slice(0, -1));
    const manifests = ['package.json', 'package-lock.json', 'LICENSE'];
    expect(copied).toEqual(expect.arrayContaining([...manifests, ...productFolders]));
    expect(copied).toHaveLength(manifests.length + productFolders.length);
    const admitted = read('.dockerignore').trimEnd().split('\n');
    expect(admitted[0]).toBe('*');
    expect(admitted.slice(1).sort()).toEqual(copied.map((name) => `!${name}`).sort());
  });

  it('starts what npm start starts, without rights, with the data in its volume', () => {
    expect(commandOf(instructionsNamed('CMD')[0] as string)).toEqual([
      'node_modules/.bin/node',
      'server/main.ts',
    ]);
    const { SVC_DATA_DIR: dataDir, SVC_HOST: host, ...others } = containerEnvironment();
    expect(others).toEqual(startVariables());
    expect([host, instructionsNamed('VOLUME'), instructionsNamed('USER')]).toEqual([
      '0.0.0.0',
      [dataDir],
      ['node'],
    ]);
  });
});
