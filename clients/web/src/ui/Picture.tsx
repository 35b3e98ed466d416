import { useEffect, useRef, useState } from "preact/hooks";
import { useDesk } from "../desk";
import type { Picture as PictureFacts } from "../wire";
import { viewName } from "../words";

/** A picture the host took: fetched with the token, small in the card, full size in a dialog. */
export function Picture({ picture }: { picture: PictureFacts }) {
  const { address, problem } = usePicture(picture.url);
  const dialog = useRef<HTMLDialogElement>(null);
  const name = viewName(picture.view) || "Picture";
  if (problem) return <p class="note">The picture can't be shown. {problem}</p>;
  return (
    <figure class="picture" data-testid="picture">
      <button
        type="button"
        class="picture-open"
        aria-label={`${name}: open full size`}
        onClick={() => dialog.current?.showModal()}
      >
        <img src={address} alt={`${name} after this step`} width={picture.width} height={picture.height} />
      </button>
      <figcaption>{name}</figcaption>
      <dialog
        ref={dialog}
        class="viewer"
        aria-label={name}
        data-testid="picture-dialog"
        onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}
      >
        <img src={address} alt={`${name} after this step`} width={picture.width} height={picture.height} />
        <button type="button" class="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </dialog>
    </figure>
  );
}

function usePicture(url: string) {
  const { api } = useDesk();
  const [address, setAddress] = useState<string>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    const leaving = new AbortController();
    let made: string | undefined;
    const load = async () => {
      try {
        made = URL.createObjectURL(await api.picture(url, leaving.signal));
        setAddress(made);
      } catch (error) {
        if (!leaving.signal.aborted) setProblem(String(error));
      }
    };
    void load();
    return () => {
      leaving.abort();
      if (made) URL.revokeObjectURL(made);
    };
  }, [api, url]);
  return { address, problem };
}
