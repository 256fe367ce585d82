import { expect, it } from 'vitest';
import { BackupFixture } from '#test/support/backup-fixture.ts';
import { until } from '#test/support/until.ts';

it('a cancelled restore has failed, leaves nothing behind, and another one can begin [BAK-025]', async () => {
  const member = await BackupFixture.open();
  try {
    const blog = await member.repository('blog');
    await member.create(blog, '/a', 'first');
    await member.backup({ name: 'one', repository: { tenant: 'default', name: 'blog' } });
    const target = { tenant: 'default', name: 'copy' };
    expect(member.backups.stopRestore('unknown')).toBeUndefined();
    const { id } = await member.backups.restore({ backup: 'one', repository: undefined, target });
    expect(member.backups.stopRestore(id)).toMatchObject({ id });
    await until(() => member.backups.findRestore(id)?.state !== 'running', 'it is over');
    expect(member.backups.findRestore(id)).toMatchObject({
      state: 'failed',
      error: { code: 'REQUEST_CANCELLED', message: 'The restore was given up' },
    });
    await expect(member.found('copy')).rejects.toThrow('no repository copy');
    expect(await member.restore({ backup: 'one', target })).toMatchObject({ state: 'done' });
    // One that is over stays what it is.
    expect(member.backups.stopRestore(id)).toMatchObject({ state: 'failed' });
  } finally {
    await member.close();
  }
});
