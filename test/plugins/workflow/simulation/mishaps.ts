import type { Deployment } from './deployment.ts';
import type { Member, World } from './world.ts';

/** Lets processes vanish, end and stall, and the database go away, at random times while there is trouble. */
export function scheduleMishaps(world: World, deployment: Deployment): void {
  const { scheduler, random, database, members } = world;
  const { crashEveryMs, closeEveryMs, stallEveryMs, outageEveryMs } = world.profile.faults;

  const every = (mean: number, happen: () => void) => {
    if (mean === 0) return;
    scheduler.after(-Math.log(1 - random.next()) * mean, '', () => {
      if (!world.isTroubled()) return;
      happen();
      every(mean, happen);
    });
  };
  const onOne = (happen: (member: Member) => void) => () => {
    const all = [...members];
    if (all.length > 0) happen(random.pick(all));
  };

  every(
    crashEveryMs,
    onOne((member) => {
      scheduler.note(`${member.process.name} crashes`);
      deployment.crash(member);
    }),
  );
  every(
    closeEveryMs,
    onOne((member) => deployment.close(member)),
  );
  every(
    stallEveryMs,
    onOne(({ process }) => {
      const ms = random.longTailed(6000, 60_000);
      scheduler.note(`${process.name} stalls for ${Math.round(ms)} ms`);
      process.stall(ms, random.isTrue(0.3));
    }),
  );
  every(outageEveryMs, () => {
    const ms = random.longTailed(4000, 40_000);
    database.state = random.isTrue(0.5) ? 'refuses' : 'hangs';
    scheduler.note(`the database is away (${database.state}) for ${Math.round(ms)} ms`);
    scheduler.after(ms, 'the database is there', () => {
      database.state = 'there';
    });
  });
}
