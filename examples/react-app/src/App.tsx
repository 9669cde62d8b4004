import { useState } from "react";
import { concerts } from "./data";
import { ArtistList } from "./components/ArtistList";
import { BookingPanel } from "./components/BookingPanel";
import { FaqList } from "./components/FaqList";
import { Footer } from "./components/Footer";
import { Header } from "./components/Header";
import { Hero } from "./components/Hero";
import { Newsletter } from "./components/Newsletter";
import { Notice } from "./components/Notice";
import { OpeningHours } from "./components/OpeningHours";
import { Programme } from "./components/Programme";
import { Reviews } from "./components/Reviews";
import { VenueInfo } from "./components/VenueInfo";

export function App() {
  const [chosen, setChosen] = useState(concerts[0]);
  return (
    <>
      <Header />
      <main id="main">
        <Notice text="The lift to the balcony is closed until 4 March." />
        <Hero />
        <Programme concerts={concerts} onChoose={setChosen} />
        <BookingPanel concert={chosen} />
        <ArtistList />
        <Reviews />
        <VenueInfo />
        <OpeningHours />
        <FaqList />
        <Newsletter />
      </main>
      <Footer />
    </>
  );
}
