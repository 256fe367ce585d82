import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findDamage } from '#test/support/branch-checker.ts';
import { SqlGarden } from '#test/support/sql-garden.ts';

/** The examples 71 to 79 of the dialect. */
describe('statements about the tree', () => {
  let garden: SqlGarden;

  beforeEach(async () => {
    garden = await SqlGarden.open();
  });
  afterEach(async () => {
    expect(await garden.branch.inspect(findDamage)).toEqual([]);
    await garden.close();
  });

  it('moves a subtree below a new parent [SQLEX-071, SQL-020]', async () => {
    const { revision, rows } = await garden.run("MOVE 'g' SET path='/beds/north' TO path='/sheds'");
    expect(rows).toEqual([{ affected_rows: 3 }]);
    expect((await garden.read('g', '/sheds/north/basil')).id).toBe('p1');
    expect(await garden.message(revision)).toBe('MOVE /beds/north TO /sheds');
  });

  it('refuses to move a node below itself [SQLEX-072]', async () => {
    await expect(garden.run("MOVE 'g' SET path='/beds' TO path='/beds/north'")).rejects.toThrow(
      "MOVE: Cannot move a node into its own descendant. Source '/beds' cannot be moved into '/beds/north'",
    );
  });

  it('copies a node under another name [SQLEX-073, SQL-020]', async () => {
    expect(await garden.rows("COPY 'g' SET path='/beds/north/basil' TO path='/sheds' AS 'herb'")).toEqual([
      { affected_rows: 1, copied_root_path: '/sheds/herb' },
    ]);
    expect((await garden.read('g', '/sheds/herb')).properties['title']).toBe('Basil');
  });

  it('places a node above a sibling [SQLEX-074, SQL-020]', async () => {
    expect(await garden.affected("ORDER 'g' SET id='b2' ABOVE id='b1'")).toBe(1);
    const ordered = await garden.rows("SELECT id FROM 'g' WHERE CHILD_OF('/beds') ORDER BY __order");
    expect(ordered).toEqual([{ id: 'b2' }, { id: 'b1' }]);
  });

  it('refuses to place a node beside one of another parent [SQLEX-075]', async () => {
    await expect(garden.run("ORDER 'g' SET id='p1' ABOVE id='b1'")).rejects.toThrow(
      "ORDER: Nodes must be siblings (same parent). Source '/beds/north/basil' and target '/beds/north' have different parents",
    );
  });

  it('relates nodes of two workspaces [SQLEX-076, SQL-020]', async () => {
    const relate = (weight: number) =>
      garden.affected(
        `RELATE FROM path='/ben' IN WORKSPACE 'p' TO path='/beds/south' IN WORKSPACE 'g' TYPE 'TENDS' WEIGHT ${weight}`,
      );
    expect(await relate(0.5)).toBe(1);
    const related = (await garden.read('p', '/ben')).relations;
    expect(related).toContainEqual({
      target: 'b2',
      workspace: 'g',
      target_node_type: 'grow:Bed',
      relation_type: 'TENDS',
      weight: 0.5,
    });
    expect(await relate(2)).toBe(1);
    expect((await garden.read('p', '/ben')).relations.map(({ weight }) => weight)).toEqual([4, 2]);
  });

  it('removes a relation once [SQLEX-077, SQL-020]', async () => {
    const unrelate = "UNRELATE FROM id='u1' IN WORKSPACE 'p' TO id='u2' IN WORKSPACE 'p' TYPE 'KNOWS'";
    expect(await garden.affected(unrelate)).toBe(1);
    expect(await garden.affected(unrelate)).toBe(0);
    expect((await garden.read('p', '/ana')).relations).toHaveLength(2);
  });

  it('restores the state before the last one [SQLEX-078, SQL-020]', async () => {
    await garden.run(`UPDATE 'g' SET properties = properties || '{"area":13}' WHERE id = 'b1'`);
    const [row] = await garden.rows("RESTORE NODE path='/beds/north' TO REVISION HEAD~1");
    expect(row).toMatchObject({ affected_rows: 1, path: '/beds/north' });
    expect((await garden.read('g', '/beds/north')).properties['area']).toBe(12);
  });

  it('translates a value, which a row of that locale shows [SQLEX-079, SQL-020]', async () => {
    expect(
      await garden.affected("UPDATE 'g' FOR LOCALE 'de' SET title = 'Nord' WHERE path='/beds/north'"),
    ).toBe(1);
    const sql =
      "SELECT locale, properties->>'title' AS t FROM 'g' WHERE id = 'b1' AND locale IN ('en', 'de') ORDER BY locale";
    expect(await garden.rows(sql)).toEqual([
      { locale: 'de', t: 'Nord' },
      { locale: 'en', t: 'North' },
    ]);
  });
});
